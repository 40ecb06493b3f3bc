/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows for show-link, -phys, -vnic, -etherstub and -linkprop. Columns and text are the CLI's. */
#include "vnicd/show.h"

#include "vnicd/foreign.h"
#include "vnicd/observe.h"
#include "vnicd/parent.h"
#include "vnicd/session.h"
#include "vnicd/unknown.h"
#include "vnicd/want.h"

#include <errno.h>
#include <linux/if.h>
#include <stdlib.h>
#include <string.h>

/* A namespace without a name is shown by a process in it. */
static const char *zone_word(const char *zone, char buf[ZONE_MAX])
{
	unsigned pid;

	if (sscanf(zone, "/proc/%u/", &pid) == 1)
		snprintf(buf, ZONE_MAX, "pid:%u", pid);
	else
		snprintf(buf, ZONE_MAX, "%s", zone);
	return buf;
}

/* How a link of ours is now. */
struct status {
	bool there;
	struct sys_link l;
	const char *state;
	char why[600];
};

static const char *state_word(const struct sys_link *l)
{
	static const char *const words[] = {[IF_OPER_UNKNOWN] = "unknown", [IF_OPER_UP] = "up"};

	if (!(l->flags & IFF_UP))
		return "down";
	/* Kinds that never tell a state (dummy, tun, lo) are up when they run. */
	if (l->operstate == IF_OPER_UNKNOWN && (l->flags & (IFF_RUNNING | IFF_LOOPBACK)))
		return l->flags & IFF_LOOPBACK ? "unknown" : "up";
	if (l->operstate < sizeof(words) / sizeof(*words) && words[l->operstate])
		return words[l->operstate];
	return "down";
}

static void join_why(struct status *s, const char *text)
{
	size_t len = strlen(s->why);

	if (text[0])
		snprintf(s->why + len, sizeof(s->why) - len, "%s%s", len ? "; " : "", text);
}

/* As the kernel has it now; a zone's links are asked for, since the world has only the own namespace's. */
static void find_vlink(struct daemon *d, struct vlink *v, struct status *s)
{
	const char *zone = vlink_zone(v);
	struct slink *own = zone[0] ? NULL : vlink_own(d, v);
	enum link_class class;

	if (own)
		s->l = own->l;
	s->there = own || (zone[0] && observe_vlink_sys(d, v, &s->l) == 0);
	if (v->s.class == CLASS_FOREIGN)
		return;
	s->there = s->there && vlink_of_sys(d, &s->l, &class) == v;
}

static void down_reason(struct daemon *d, const struct vlink *v, struct status *s)
{
	struct slink *parent = vlink_parent(d, v);
	char text[IFNAMSIZ + 40];

	if (strcmp(s->state, "down") != 0 || v->s.class == CLASS_FOREIGN)
		return;
	if (!(s->l.flags & IFF_UP)) {
		join_why(s, "taken down: 'ip link set up' brings it up");
	} else if (parent && strcmp(state_word(&parent->l), "up") != 0) {
		snprintf(text, sizeof(text), "its parent %s is down", parent->l.name);
		join_why(s, text);
	}
}

static const char *const trouble_states[] = {
	[TROUBLE_LOST] = "lost", [TROUBLE_WAITING] = "waiting", [TROUBLE_OVERRIDDEN] = "overridden"};

static void status_of(struct daemon *d, struct vlink *v, struct status *s)
{
	*s = (struct status){0};
	find_vlink(d, v, s);
	if (v->trouble != TROUBLE_NONE || !s->there) {
		s->state = v->trouble != TROUBLE_NONE ? trouble_states[v->trouble] : "lost";
		join_why(s, v->trouble != TROUBLE_NONE ? v->why : "it is gone: it is about to be made again");
		return;
	}
	s->state = state_word(&s->l);
	down_reason(d, v, s);
	if (strcmp(s->l.name, v->s.name) != 0) {
		join_why(s, "others gave it another name: ");
		snprintf(s->why + strlen(s->why), sizeof(s->why) - strlen(s->why), "%s", s->l.name);
	}
	if (v->repair_timer)
		join_why(s, "others changed it: it is about to be put right");
	join_why(s, v->warn);
}

/* Absent rather than empty: an unset value has no key. */
static void set_str(json_t *o, const char *key, const char *value)
{
	if (value[0])
		json_object_set_new(o, key, call_text(value));
}

static void set_int(json_t *o, const char *key, uint64_t value)
{
	json_object_set_new(o, key, json_integer((json_int_t)value));
}

/* A link's name, also where an alternative one was given; NULL when none was. */
static const char *link_param(struct daemon *d, struct call *c, const char *key, char buf[IFNAMSIZ])
{
	const char *name = json_string_value(json_object_get(call_params(c), key));

	return name ? observe_name(d, name, buf) : NULL;
}

static void no_such(struct daemon *d, struct call *c, const char *name, enum unknown kind)
{
	struct err e = {0};

	unknown_link(d, kind, name, &e);
	call_fail(c, &e);
}

/* Is only what is stored asked for? Then links that last until the next boot are left out, and what only the
 * kernel knows has no key. */
static bool persistent(struct call *c)
{
	return json_is_true(json_object_get(call_params(c), "persistent"));
}

/* A link that is there, and of which nothing is stored; what says why. */
static const char *not_stored(struct daemon *d, const char *name)
{
	struct vlink *v = vlink_find(d, name);

	if (v)
		return v->s.temp ? "it is temporary, and nothing of it is stored for good: leave -P out"
				 : NULL;
	return slink_by_name(d, name) ? "vnicd did not make it, and stores nothing of it: leave -P out"
				      : NULL;
}

/* A name that matched nothing. */
static void fail_none(struct daemon *d, struct call *c, const char *name, enum unknown kind)
{
	const char *why = persistent(c) ? not_stored(d, name) : NULL;
	struct err e = {0};

	if (why)
		err_user(&e, -ENODEV, name, "%s", why);
	else
		unknown_link(d, kind, name, &e);
	call_fail(c, &e);
}

/* A list of rows under key is the reply; a name that matched nothing is an error. */
static void reply_rows(struct daemon *d, struct call *c, const char *key, json_t *rows, const char *name,
		       enum unknown kind)
{
	if (!name || json_array_size(rows)) {
		call_reply(c, json_pack("{s:o}", key, rows), false);
		return;
	}
	json_decref(rows);
	fail_none(d, c, name, kind);
}

/* show-link */

static const char *lower_name(const struct daemon *d, const struct sys_link *l, char buf[IFNAMSIZ + 32])
{
	const struct slink *s = l->lower ? slink_find(d, l->lower) : NULL;

	if (l->lower && l->lower_foreign)
		snprintf(buf, IFNAMSIZ + 32, "?");
	else
		snprintf(buf, IFNAMSIZ + 32, "%s", s && l->lower != l->ifindex ? s->l.name : "");
	return buf;
}

static json_t *link_row(const char *name, const char *class, const struct sys_link *l, const char *state,
			const char *over)
{
	char mac[18];
	json_t *o = json_pack("{s:o, s:s, s:I, s:s}", "link", call_text(name), "class", class, "mtu",
			      (json_int_t)l->mtu, "state", state);

	set_str(o, "over", over);
	if (l->ifindex)
		set_int(o, "ifindex", (uint64_t)l->ifindex);
	set_str(o, "kind", l->kind);
	if (l->has_mac)
		set_str(o, "macvalue", mac_str(l->mac, mac));
	return o;
}

static json_t *vlink_link_row(struct daemon *d, struct vlink *v)
{
	char over[IFNAMSIZ], zone[ZONE_MAX], lower[IFNAMSIZ + 32];
	struct status s;
	json_t *o;

	status_of(d, v, &s);
	if (!s.there) {
		s.l = (struct sys_link){.mtu = want_mtu(d, v), .mac = v->s.mac, .has_mac = true};
	}
	o = link_row(v->s.name, foreign_class(v), &s.l, s.state,
		     v->s.class == CLASS_FOREIGN ? lower_name(d, &s.l, lower) : vlink_over(d, v, over));
	set_str(o, "zone", zone_word(vlink_zone(v), zone));
	set_str(o, "why", s.why);
	return o;
}

static json_t *kept_link_row(struct daemon *d, struct vlink *v)
{
	json_t *o = json_pack("{s:s, s:s}", "link", v->s.name, "class", foreign_class(v));
	char over[IFNAMSIZ], mac[18];

	if (v->s.class != CLASS_FOREIGN)
		set_str(o, "over", vlink_over(d, v, over));
	set_str(o, "zone", prop_zone(&v->kept));
	set_str(o, "macvalue", mac_str(v->s.mac, mac));
	return o;
}

static int by_index(struct slink *a, struct slink *b)
{
	return a->l.ifindex - b->l.ifindex;
}

static int by_number(struct vlink *a, struct vlink *b)
{
	return a->s.n < b->s.n ? -1 : a->s.n > b->s.n;
}

void show_link(struct daemon *d, struct call *c)
{
	char buf[IFNAMSIZ];
	const char *name = link_param(d, c, "name", buf);
	bool all = json_is_true(json_object_get(call_params(c), "all")), kept = persistent(c);
	json_t *rows = json_array();
	struct slink *s, *snext;
	struct vlink *v, *vnext;
	char over[IFNAMSIZ + 32];
	enum link_class class;

	HASH_SRT(hh, d->links, by_index);
	HASH_SRT(hh_n, d->by_n, by_number);
	HASH_ITER (hh, d->links, s, snext) {
		v = vlink_of_sys(d, &s->l, &class);
		if (kept || (v && (class != CLASS_IFB || !all)) || (name && strcmp(name, s->l.name) != 0))
			continue;
		json_array_append_new(rows, foreign_on(s) ? vlink_link_row(d, foreign_on(s))
							  : link_row(s->l.name, sys_class(d, &s->l), &s->l,
								     state_word(&s->l),
								     lower_name(d, &s->l, over)));
	}
	HASH_ITER (hh_n, d->by_n, v, vnext)
		if (!(v->s.class == CLASS_FOREIGN && v->below && !kept) &&
		    (!name || !strcmp(name, v->s.name)) && !(kept && v->s.temp))
			json_array_append_new(rows, (kept ? kept_link_row : vlink_link_row)(d, v));
	reply_rows(d, c, "links", rows, name, UNKNOWN_LINK);
}

/* show-phys */

static json_t *phys_row(struct daemon *d, const struct sys_link *l)
{
	static const char *const duplex_words[] = {"half", "full", "unknown"};
	int duplex;
	uint64_t speed = observe_speed(d, l->ifindex, &duplex);
	json_t *o = json_pack("{s:o, s:s, s:s, s:s}", "link", call_text(l->name), "media", "Ethernet",
			      "state", state_word(l), "duplex", duplex_words[duplex]);

	if (speed)
		set_int(o, "speed", speed);
	set_str(o, "device", l->bus[0] ? l->bus : l->name);
	return o;
}

void show_phys(struct daemon *d, struct call *c)
{
	char buf[IFNAMSIZ];
	const char *name = link_param(d, c, "name", buf);
	json_t *rows = json_array();
	struct slink *s, *next;
	enum link_class class;
	struct err e = {0};

	HASH_SRT(hh, d->links, by_index);
	HASH_ITER (hh, d->links, s, next) {
		if (name && strcmp(name, s->l.name) != 0)
			continue;
		if (!vlink_of_sys(d, &s->l, &class) && parent_check(d, &s->l, &e) == 0)
			json_array_append_new(rows, phys_row(d, &s->l));
		else if (name && e.code) {
			json_decref(rows);
			call_fail(c, &e);
			return;
		}
	}
	reply_rows(d, c, "phys", rows, name, UNKNOWN_PHYS);
}

/* show-vnic */

static void set_caps(struct daemon *d, json_t *o, const struct vlink *v)
{
	static const struct {
		const char *key;
		bool tx;
	} dirs[] = {{"maxbw_rx", false}, {"maxbw_tx", true}};
	struct slink *parent = vlink_parent(d, v);
	uint64_t speed = parent && want_percent(v) ? observe_speed(d, parent->l.ifindex, NULL) : 0;

	for (size_t i = 0; i < 2; i++) {
		struct eff_cap cap = want_cap(v, dirs[i].tx, speed);

		if (cap.blocked || cap.rate)
			set_int(o, dirs[i].key, cap.rate);
	}
}

/* What holds the cap: nothing without one; in a zone its user can take the TX side away. */
static const char *enforcer(const struct vlink *v)
{
	if (!prop_capped(&v->props))
		return "";
	return vlink_zone(v)[0] ? "vnic (tenant can remove)" : "vnic";
}

static void set_speed(struct daemon *d, json_t *o, const struct vlink *v)
{
	struct slink *parent = vlink_parent(d, v);
	uint64_t speed = parent ? observe_speed(d, parent->l.ifindex, NULL) : 0;
	struct eff_cap rx = want_cap(v, false, speed), tx = want_cap(v, true, speed);
	uint64_t cap = rx.rate > tx.rate ? rx.rate : tx.rate;

	if (cap || speed)
		set_int(o, "speed", cap ? cap : speed);
}

static const char *mac_type_word(const struct vlink *v)
{
	return v->s.mac_type == MAC_FIXED ? "fixed" : "random";
}

static void set_vid(struct daemon *d, json_t *o, const struct vlink *v)
{
	const struct vlink *vlan = vlink_vlan(d, v);

	if (vlan)
		set_int(o, "vid", vlan->s.vid);
}

static json_t *vnic_row(struct daemon *d, struct vlink *v)
{
	char over[IFNAMSIZ], mac[18], bandwidth[128], zone[ZONE_MAX];
	struct status s;
	json_t *o;

	status_of(d, v, &s);
	o = json_pack("{s:s, s:s, s:s, s:I, s:s}", "link", v->s.name, "mactype", mac_type_word(v), "macvalue",
		      mac_str(v->s.mac, mac), "mtu", (json_int_t)(s.there ? s.l.mtu : want_mtu(d, v)),
		      "state", s.state);
	set_str(o, "over", vlink_over(d, v, over));
	set_vid(d, o, v);
	set_str(o, "bandwidth", prop_bandwidth(&v->props, bandwidth, sizeof(bandwidth)));
	set_caps(d, o, v);
	set_speed(d, o, v);
	set_str(o, "zone", zone_word(vlink_zone(v), zone));
	if (s.there)
		set_int(o, "ifindex", (uint64_t)s.l.ifindex);
	set_str(o, "enforcer", enforcer(v));
	set_str(o, "why", s.why);
	return o;
}

static json_t *kept_vnic_row(struct daemon *d, struct vlink *v)
{
	char over[IFNAMSIZ], mac[18], bandwidth[128];
	json_t *o = json_pack("{s:s, s:s, s:s}", "link", v->s.name, "mactype", mac_type_word(v), "macvalue",
			      mac_str(v->s.mac, mac));

	set_str(o, "over", vlink_over(d, v, over));
	set_vid(d, o, v);
	set_str(o, "bandwidth", prop_bandwidth(&v->kept, bandwidth, sizeof(bandwidth)));
	if (prop_mtu(&v->kept))
		set_int(o, "mtu", prop_mtu(&v->kept));
	set_str(o, "zone", prop_zone(&v->kept));
	return o;
}

/* A VNIC was named that is there, but over another link. */
static bool refuse_other_parent(struct daemon *d, struct call *c, const char *name, const char *link)
{
	struct vlink *v = name ? vlink_find(d, name) : NULL;
	char over[IFNAMSIZ];
	struct err e = {0};

	if (!v || v->s.class != CLASS_VNIC || !strcmp(link, vlink_over(d, v, over)))
		return false;
	err_user(&e, -ENODEV, name, "it is over %s, not over %s", over, link);
	call_fail(c, &e);
	return true;
}

void show_vnic(struct daemon *d, struct call *c)
{
	char over[IFNAMSIZ], name_buf[IFNAMSIZ], link_buf[IFNAMSIZ];
	const char *name = link_param(d, c, "name", name_buf), *link = link_param(d, c, "link", link_buf);
	json_t *rows = json_array();
	struct vlink *v, *next;
	bool kept = persistent(c);

	if (link && !slink_by_name(d, link) && !vlink_find(d, link)) {
		json_decref(rows);
		no_such(d, c, link, UNKNOWN_LINK);
		return;
	}
	HASH_SRT(hh_n, d->by_n, by_number);
	HASH_ITER (hh_n, d->by_n, v, next)
		if (v->s.class == CLASS_VNIC && (!name || !strcmp(name, v->s.name)) &&
		    (!link || !strcmp(link, vlink_over(d, v, over))) && !(kept && v->s.temp))
			json_array_append_new(rows, (kept ? kept_vnic_row : vnic_row)(d, v));
	if (link && refuse_other_parent(d, c, name, link)) {
		json_decref(rows);
		return;
	}
	reply_rows(d, c, "vnics", rows, name, UNKNOWN_VNIC);
}

/* show-etherstub */

static json_t *names_on(struct daemon *d, const struct vlink *stub, bool kept)
{
	json_t *vnics = json_array();
	struct vlink *v, *next;

	HASH_ITER (hh_n, d->by_n, v, next)
		if (v->s.over == stub->s.n && !(kept && v->s.temp))
			json_array_append_new(vnics, json_string(v->s.name));
	return vnics;
}

static json_t *stub_row(struct daemon *d, struct vlink *stub)
{
	struct status s;

	status_of(d, stub, &s);
	return json_pack("{s:s, s:I, s:s, s:o}", "link", stub->s.name, "mtu",
			 (json_int_t)(s.there ? s.l.mtu : want_mtu(d, stub)), "state", s.state, "vnics",
			 names_on(d, stub, false));
}

static json_t *kept_stub_row(struct daemon *d, struct vlink *stub)
{
	json_t *o = json_pack("{s:s, s:o}", "link", stub->s.name, "vnics", names_on(d, stub, true));

	if (prop_mtu(&stub->kept))
		set_int(o, "mtu", prop_mtu(&stub->kept));
	return o;
}

void show_etherstub(struct daemon *d, struct call *c)
{
	char buf[IFNAMSIZ];
	const char *name = link_param(d, c, "name", buf);
	json_t *rows = json_array();
	struct vlink *v, *next;
	bool kept = persistent(c);

	HASH_SRT(hh_n, d->by_n, by_number);
	HASH_ITER (hh_n, d->by_n, v, next)
		if (v->s.class == CLASS_ETHERSTUB && (!name || !strcmp(name, v->s.name)) &&
		    !(kept && v->s.temp))
			json_array_append_new(rows, (kept ? kept_stub_row : stub_row)(d, v));
	reply_rows(d, c, "etherstubs", rows, name, UNKNOWN_ETHERSTUB);
}

/* show-linkprop */

/* Somebody may have changed it, and a parent's MTU takes its VNICs' along downwards. */
static uint32_t mtu_now(struct daemon *d, const struct vlink *v)
{
	enum link_class class;
	struct sys_link l;

	if (observe_find(d, vlink_zone(v), v->s.name, &l, NULL) == 0 && vlink_of_sys(d, &l, &class) == v)
		return l.mtu;
	return want_mtu(d, v);
}

/* EFFECTIVE: what is in force now; "" when that is nothing, "?" when it cannot be told. */
static void effective(struct daemon *d, const struct vlink *v, enum prop_id id, char *buf, size_t size)
{
	struct slink *parent = vlink_parent(d, v);
	struct eff_cap cap;

	buf[0] = '\0';
	if (id == PROP_MTU) {
		snprintf(buf, size, "%u", mtu_now(d, v));
	} else if (id == PROP_ZONE) {
		snprintf(buf, size, "%s", vlink_zone(v));
	} else if (id == PROP_ISOLATE) {
		snprintf(buf, size, "%s", want_isolate(v) && v->trouble == TROUBLE_NONE ? "on" : "off");
	} else {
		enum prop_id asked = v->props.value[id] ? id : PROP_MAXBW;
		struct bw bw = {.kind = BW_NONE};

		if (v->props.value[asked])
			bw_parse(v->props.value[asked], prop_rows[asked].name, &bw, NULL);
		if (bw.kind != BW_PERCENT) {
			snprintf(buf, size, "%s", v->props.value[asked] ? v->props.value[asked] : "");
			return;
		}
		cap = want_cap(
			v, id == PROP_MAXBW_TX || (id == PROP_MAXBW && v->props.value[PROP_MAXBW_RX] != NULL),
			parent ? observe_speed(d, parent->l.ifindex, NULL) : 0);
		if (cap.unknown)
			snprintf(buf, size, "?");
		else
			bw_str((struct bw){.kind = BW_RATE, .value = cap.rate}, buf, size);
	}
}

static void default_of(struct daemon *d, const struct vlink *v, enum prop_id id, char *buf, size_t size)
{
	struct vlink plain = {.s = v->s};

	buf[0] = '\0';
	if (id == PROP_MTU)
		snprintf(buf, size, "%u", want_mtu(d, &plain));
	else if (id == PROP_ISOLATE)
		snprintf(buf, size, "off");
}

static json_t *prop_row_of(struct daemon *d, const struct vlink *v, enum prop_id id)
{
	char eff[PROP_TEXT_MAX], def[PROP_TEXT_MAX];
	json_t *o = json_pack("{s:s, s:s, s:s, s:s}", "link", v->s.name, "property", prop_rows[id].name,
			      "perm", "rw", "possible", prop_rows[id].possible);

	effective(d, v, id, eff, sizeof(eff));
	default_of(d, v, id, def, sizeof(def));
	if (v->props.value[id])
		set_str(o, "value", v->props.value[id]);
	else
		set_str(o, "value", id == PROP_MTU ? eff : "");
	set_str(o, "effective", eff);
	set_str(o, "default", def);
	return o;
}

static json_t *kept_prop_row(struct daemon *d, const struct vlink *v, enum prop_id id)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:s}", "link", v->s.name, "property", prop_rows[id].name,
			      "perm", "rw", "possible", prop_rows[id].possible);
	char def[PROP_TEXT_MAX];

	default_of(d, v, id, def, sizeof(def));
	set_str(o, "value", v->kept.value[id] ? v->kept.value[id] : "");
	set_str(o, "default", def);
	return o;
}

/* Of what others made: what can be set there is not set. */
static json_t *sys_prop_row(const struct sys_link *l, enum prop_id id)
{
	char mtu[16];

	if (id != PROP_MTU)
		return json_pack("{s:s, s:s, s:s, s:s}", "link", l->name, "property", prop_rows[id].name,
				 "perm", "rw", "possible", prop_rows[id].possible);

	snprintf(mtu, sizeof(mtu), "%u", l->mtu);
	return json_pack("{s:o, s:s, s:s, s:s, s:s, s:s}", "link", call_text(l->name), "property",
			 prop_rows[id].name, "perm", "r-", "value", mtu, "effective", mtu, "possible", mtu);
}

struct prop_show {
	struct daemon *d;
	const json_t *filter; /* array of property names, or NULL */
	bool named;           /* one link was named: a property it lacks is an error */
	bool kept;            /* only what is stored */
	json_t *rows;
	struct err *e;
};

static void show_one(struct prop_show *p, const struct vlink *v, const struct sys_link *l, enum prop_id id)
{
	if (v && v->s.class == CLASS_FOREIGN && id == PROP_MTU) {
		if (v->below && !p->kept)
			json_array_append_new(p->rows, sys_prop_row(&v->below->l, id));
		return;
	}
	json_array_append_new(p->rows, !v        ? sys_prop_row(l, id)
				       : p->kept ? kept_prop_row(p->d, v, id)
						 : prop_row_of(p->d, v, id));
}

/* The rows of one link: all of its class, or those asked for. */
static int show_props_of(struct prop_show *p, const struct vlink *v, const struct sys_link *l)
{
	enum link_class class = v                                   ? v->s.class
				: foreign_check(p->d, l, NULL) == 0 ? CLASS_FOREIGN
								    : CLASS_OTHER;
	const char *name = v ? v->s.name : l->name;
	const char *word = v ? foreign_class(v) : sys_class(p->d, l);
	enum prop_id id;
	json_t *n;
	size_t i;
	int r;

	if (!p->filter) {
		for (id = 0; id < PROP_COUNT; id++)
			if ((prop_rows[id].classes | prop_rows[id].readable) & (1u << class))
				show_one(p, v, l, id);
		return 0;
	}
	json_array_foreach (p->filter, i, n) {
		const char *key = json_string_value(n);

		r = prop_find(p->named ? name : NULL, class, word, key ? key : "", false, &id, p->e);
		if (r == -EOPNOTSUPP && !p->named)
			continue;
		if (r < 0)
			return r;
		show_one(p, v, l, id);
	}
	return 0;
}

static int show_all_props(struct prop_show *p, const char *name)
{
	struct daemon *d = p->d;
	struct slink *s, *snext;
	struct vlink *v, *vnext;
	enum link_class class;
	int r = 0;

	HASH_SRT(hh, d->links, by_index);
	HASH_SRT(hh_n, d->by_n, by_number);
	HASH_ITER (hh, d->links, s, snext)
		if (r == 0 && !p->kept && !vlink_of_sys(d, &s->l, &class) &&
		    (!name || !strcmp(name, s->l.name)))
			r = show_props_of(p, foreign_on(s), &s->l);
	HASH_ITER (hh_n, d->by_n, v, vnext)
		if (r == 0 && !(v->s.class == CLASS_FOREIGN && v->below && !p->kept) &&
		    (!name || !strcmp(name, v->s.name)) && !(p->kept && v->s.temp))
			r = show_props_of(p, v, NULL);
	return r;
}

void show_linkprop(struct daemon *d, struct call *c)
{
	char buf[IFNAMSIZ];
	const char *name = link_param(d, c, "link", buf);
	json_t *filter = json_object_get(call_params(c), "props");
	struct err e = {0};
	struct prop_show p = {.d = d,
			      .filter = json_array_size(filter) ? filter : NULL,
			      .named = name != NULL,
			      .kept = persistent(c),
			      .rows = json_array(),
			      .e = &e};

	if (show_all_props(&p, name) < 0) {
		json_decref(p.rows);
		call_fail(c, &e);
		return;
	}
	reply_rows(d, c, "props", p.rows, name, UNKNOWN_LINK);
}
