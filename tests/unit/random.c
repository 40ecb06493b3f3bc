/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random requests and random changes by others, from one seed, to two daemons in one process: one over the
 * real kernel of the namespace it is started in, one over the in-memory kernel. After each step both must say
 * the same of the request and of every link, and each must have what it wants. Started by
 * tests/netns/random.bats, which makes eth0, eth1 and the zones; never decides what a link should be.
 *
 *     random SEED STEPS DIR BPF-DIR ZONE...
 */
#include "lib/kern/kern.h"
#include "vnicd/daemon.h"
#include "vnicd/log.h"
#include "vnicd/observe.h"
#include "vnicd/reconcile.h"
#include "vnicd/request.h"
#include "vnicd/session.h"
#include "vnicd/world.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAMES  6
#define STUBS  2
#define ZONES  4
#define SEEN   64
#define SPEED  100u /* so much faster than the clock are waits of half a second and more */
#define AWHILE 400  /* turns of the loop, of 5 ms at least, in which all must come to rest */

enum { REAL, FAKE, SIDES };

struct seen {
	uint32_t n;
	char zone[ZONE_MAX];
	struct sys_link l;
	struct node node;
	bool ifb;
};

/* One daemon and its kernel. */
struct side {
	struct options options;
	sd_event *event;
	struct daemon *d;
	char answer[700];
};

static struct side sides[SIDES];
static int now = REAL; /* whose turn it is */
static const char *zones[ZONES];
static bool zone_there[ZONES];
static int zone_count;
static unsigned step;

/* The fake lives on when its daemon ends, and tells what happened by comparing with what it told last. */
static struct kernel *fake;
static int fake_fd = -1;
static struct seen seen[SEEN];
static size_t seen_count;
static bool fake_told;

/* --- the daemons' way to their kernels, and to us ------------------------------------------------------- */

int __real_kern_real_new(const struct kern_config *cfg, struct kernel **ret, struct err *e);
int __wrap_kern_real_new(const struct kern_config *cfg, struct kernel **ret, struct err *e);
struct kernel *__real_kern_free(struct kernel *k);
struct kernel *__wrap_kern_free(struct kernel *k);
int __real_kern_real_event_fd(struct kernel *k);
int __wrap_kern_real_event_fd(struct kernel *k);
int __real_kern_real_events(struct kernel *k, void (*cb)(const struct kern_event *ev, void *arg), void *arg);
int __wrap_kern_real_events(struct kernel *k, void (*cb)(const struct kern_event *ev, void *arg), void *arg);
int __real_kern_real_nsid(struct kernel *k, const char *zone, int *ret, struct err *e);
int __wrap_kern_real_nsid(struct kernel *k, const char *zone, int *ret, struct err *e);
int __real_kern_real_zone(struct kernel *k, int nsid, char ret[ZONE_MAX], struct err *e);
int __wrap_kern_real_zone(struct kernel *k, int nsid, char ret[ZONE_MAX], struct err *e);
int __real_kern_real_lower(struct kernel *k, const char *zone, const struct sys_link *l);
int __wrap_kern_real_lower(struct kernel *k, const char *zone, const struct sys_link *l);
int __real_kern_real_zones(struct kernel *k, int (*cb)(const char *zone, void *arg), void *arg);
int __wrap_kern_real_zones(struct kernel *k, int (*cb)(const char *zone, void *arg), void *arg);
int __real_sd_event_add_time_relative(sd_event *e, sd_event_source **s, clockid_t clock, uint64_t usec,
				      uint64_t accuracy, sd_event_time_handler_t callback, void *userdata);
int __wrap_sd_event_add_time_relative(sd_event *e, sd_event_source **s, clockid_t clock, uint64_t usec,
				      uint64_t accuracy, sd_event_time_handler_t callback, void *userdata);
json_t *__wrap_call_params(const struct call *c);
const char *__wrap_call_method(const struct call *c);
bool __wrap_call_may_change(const struct call *c);
void __wrap_call_reply(struct call *c, json_t *params, bool continues);
void __wrap_call_fail(struct call *c, const struct err *e);
void __wrap_call_invalid(struct call *c, const char *parameter);

int __wrap_kern_real_new(const struct kern_config *cfg, struct kernel **ret, struct err *e)
{
	if (now == REAL)
		return __real_kern_real_new(cfg, ret, e);
	kern_fake_uuid(fake, cfg->uuid);
	*ret = fake;
	return 0;
}

struct kernel *__wrap_kern_free(struct kernel *k)
{
	return k == fake ? NULL : __real_kern_free(k);
}

int __wrap_kern_real_event_fd(struct kernel *k)
{
	return k == fake ? fake_fd : __real_kern_real_event_fd(k);
}

static int zone_number(const char *zone)
{
	for (int i = 0; i < zone_count; i++)
		if (!strcmp(zones[i], zone))
			return i;
	return OWN_NS;
}

int __wrap_kern_real_nsid(struct kernel *k, const char *zone, int *ret, struct err *e)
{
	if (k != fake)
		return __real_kern_real_nsid(k, zone, ret, e);
	*ret = zone_number(zone);
	return *ret >= 0 && zone_there[*ret] ? 0 : err_sys(e, -ENOENT, zone, "no such zone");
}

int __wrap_kern_real_zone(struct kernel *k, int nsid, char ret[ZONE_MAX], struct err *e)
{
	if (k != fake)
		return __real_kern_real_zone(k, nsid, ret, e);
	snprintf(ret, ZONE_MAX, "%s", zones[nsid]);
	return 0;
}

int __wrap_kern_real_lower(struct kernel *k, const char *zone, const struct sys_link *l)
{
	return k == fake ? l->lower : __real_kern_real_lower(k, zone, l);
}

int __wrap_kern_real_zones(struct kernel *k, int (*cb)(const char *zone, void *arg), void *arg)
{
	int r = 0;

	if (k != fake)
		return __real_kern_real_zones(k, cb, arg);
	for (int i = 0; i < zone_count && !r; i++)
		if (zone_there[i])
			r = cb(zones[i], arg);
	return r;
}

int __wrap_sd_event_add_time_relative(sd_event *e, sd_event_source **s, clockid_t clock, uint64_t usec,
				      uint64_t accuracy, sd_event_time_handler_t callback, void *userdata)
{
	return __real_sd_event_add_time_relative(e, s, clock, usec >= 500000 ? usec / SPEED : usec, accuracy,
						 callback, userdata);
}

/* A call is what it asks for. */
struct call {
	const char *method;
	json_t *params;
};

json_t *__wrap_call_params(const struct call *c)
{
	return c->params;
}

const char *__wrap_call_method(const struct call *c)
{
	return c->method;
}

bool __wrap_call_may_change(const struct call *c)
{
	(void)c;
	return true;
}

void __wrap_call_reply(struct call *c, json_t *params, bool continues)
{
	(void)c;
	(void)continues;
	json_decref(params);
	snprintf(sides[now].answer, sizeof(sides[now].answer), "accepted");
}

void __wrap_call_fail(struct call *c, const struct err *e)
{
	char text[600];

	(void)c;
	snprintf(sides[now].answer, sizeof(sides[now].answer), "%s: %s", e->mend ? "refused" : "failed",
		 err_str(e, text, sizeof(text)));
}

void __wrap_call_invalid(struct call *c, const char *parameter)
{
	(void)c;
	snprintf(sides[now].answer, sizeof(sides[now].answer), "invalid: %s", parameter);
}

/* --- what the fake tells -------------------------------------------------------------------------------- */

static void see(const struct sys_link *l, const struct node *n, bool ifb)
{
	struct seen *s = &seen[seen_count];

	if (seen_count == SEEN)
		abort();
	*s = (struct seen){.l = *l, .ifb = ifb};
	if (n) {
		s->n = n->n;
		s->node = *n;
		snprintf(s->zone, sizeof(s->zone), "%s", ifb ? "" : n->port.zone);
	}
	seen_count++;
}

static int see_own(const struct sys_link *l, void *arg)
{
	(void)arg;
	if (!l->alias[0])
		see(l, NULL, false);
	return 0;
}

static int see_marked(const struct port *port, uint32_t n, enum link_class class, void *arg)
{
	struct sys_link l = {.ifindex = port->ifindex};

	(void)arg;
	if (class != CLASS_IFB && fake->ops->link(fake, port->zone, port->ifindex, NULL, &l, NULL) < 0)
		return 0;
	memcpy(l.name, port->name, sizeof(l.name));
	if (class == CLASS_IFB) {
		snprintf(l.kind, sizeof(l.kind), "ifb");
		snprintf(l.alias, sizeof(l.alias), "vnicd:%s:%u", store_uuid(sides[FAKE].d->store), n);
		l.group = GROUP_LIVE;
	}
	see(&l, kern_fake_node(fake, n), class == CLASS_IFB);
	return 0;
}

static bool same_place(const struct seen *a, const struct seen *b)
{
	return a->l.ifindex == b->l.ifindex && !strcmp(a->zone, b->zone);
}

static const struct seen *among(const struct seen *s, const struct seen *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (same_place(s, &list[i]))
			return &list[i];
	return NULL;
}

/* Where a link went that is no longer here: the same number of ours elsewhere. */
static void moved_to(const struct seen *s, struct kern_event *ev)
{
	for (size_t i = 0; i < seen_count && s->n && !s->ifb; i++)
		if (seen[i].n == s->n && !seen[i].ifb) {
			ev->new_ifindex = seen[i].l.ifindex;
			ev->new_nsid = zone_number(seen[i].zone);
		}
}

static void tell_gone(const struct seen *s, void (*cb)(const struct kern_event *ev, void *arg), void *arg)
{
	int nsid = zone_number(s->zone);
	struct kern_event ev = {.nsid = nsid, .ifindex = s->l.ifindex, .gone = true, .l = &s->l};

	if (s->zone[0] && !zone_there[nsid])
		ev = (struct kern_event){.nsid = nsid};
	else
		moved_to(s, &ev);
	cb(&ev, arg);
}

/* Padding counts: an event too many does no harm. */
static bool same_bytes(const void *a, const void *b, size_t size)
{
	return memcmp(a, b, size) == 0;
}

int __wrap_kern_real_events(struct kernel *k, void (*cb)(const struct kern_event *ev, void *arg), void *arg)
{
	static struct seen before[SEEN];
	size_t count = seen_count;
	eventfd_t value;

	if (k != fake)
		return __real_kern_real_events(k, cb, arg);
	eventfd_read(fake_fd, &value);
	memcpy(before, seen, sizeof(seen));
	seen_count = 0;
	fake->ops->links(fake, see_own, NULL, NULL);
	fake->ops->marked(fake, NULL, see_marked, NULL, NULL);
	for (size_t i = 0; i < count; i++)
		if (!among(&before[i], seen, seen_count))
			tell_gone(&before[i], cb, arg);
	for (size_t i = 0; i < seen_count; i++) {
		const struct seen *was = among(&seen[i], before, count);
		struct kern_event ev = {.nsid = zone_number(seen[i].zone), .ifindex = seen[i].l.ifindex};

		if (!was || !same_bytes(&was->l, &seen[i].l, sizeof(was->l)))
			ev.l = &seen[i].l;
		else if (!seen[i].n || same_bytes(&was->node, &seen[i].node, sizeof(was->node)))
			continue;
		cb(&ev, arg);
		fake_told = true;
	}
	return 0;
}

/* --- requests ------------------------------------------------------------------------------------------- */

static unsigned any(unsigned below)
{
	return (unsigned)random() % below;
}

static json_t *props_of(const char *cap, const char *zone)
{
	json_t *props = json_array();

	if (cap[0])
		json_array_append_new(props, json_pack("{s:s,s:s}", "name", "maxbw", "value", cap));
	if (zone[0])
		json_array_append_new(props, json_pack("{s:s,s:s}", "name", "zone", "value", zone));
	return props;
}

static const char *any_cap(void)
{
	static const char *const caps[] = {"", "5M", "100M", "1G", "blocked", "250M"};

	return caps[any(sizeof(caps) / sizeof(*caps))];
}

static const char *any_zone(void)
{
	unsigned i = any((unsigned)zone_count + 2);

	return i < (unsigned)zone_count ? zones[i] : "";
}

static const char *name_of(char letter, unsigned count)
{
	static char names[4][8];
	static unsigned at;
	char *name = names[at++ % 4];

	snprintf(name, sizeof(names[0]), "%c%u", letter, any(count));
	return name;
}

static const char *any_vnic(void)
{
	return name_of('v', NAMES);
}

static const char *any_stub(void)
{
	return name_of('s', STUBS);
}

static struct call ask_create(void)
{
	static const char *const below[] = {"eth0", "eth0", "eth0", "eth1", "s0", "s1"};
	const char *name = any_vnic();
	char mac[18];

	snprintf(mac, sizeof(mac), "02:08:20:00:00:%02x", 16 + (name[1] - '0'));
	return (struct call){"CreateVnic", json_pack("{s:s,s:s,s:s,s:o}", "link", below[any(6)], "name", name,
						     "mac", mac, "props", props_of(any_cap(), any_zone()))};
}

static struct call ask_delete(void)
{
	return (struct call){"DeleteVnic", json_pack("{s:[s]}", "names", any_vnic())};
}

static struct call ask_set(void)
{
	return (struct call){"SetLinkprop", json_pack("{s:s,s:o}", "link", any_vnic(), "props",
						      props_of(any_cap(), any(2) ? any_zone() : ""))};
}

static struct call ask_reset(void)
{
	return (struct call){"ResetLinkprop", json_pack("{s:s,s:[s]}", "link", any_vnic(), "props",
							any(2) ? "maxbw" : "zone")};
}

static struct call ask_stub(void)
{
	return (struct call){"CreateEtherstub", json_pack("{s:s}", "name", any_stub())};
}

static struct call ask_unstub(void)
{
	return (struct call){"DeleteEtherstub", json_pack("{s:[s]}", "names", any_stub())};
}

static struct call ask_rename(void)
{
	return (struct call){"RenameLink", json_pack("{s:s,s:s}", "link", any_vnic(), "name", any_vnic())};
}

static struct call ask_reapply(void)
{
	return (struct call){"Reapply", json_pack("{s:s}", "link", any_vnic())};
}

static struct call (*const asks[])(void) = {
	ask_create, ask_create, ask_create, ask_create, ask_set,    ask_set,     ask_set,
	ask_delete, ask_reset,  ask_stub,   ask_unstub, ask_rename, ask_reapply,
};

/* --- what others do: a command for the real kernel, a function for the other ---------------------------- */

/* What is changed: a link of ours as the side sees it, and some other words. */
struct target {
	uint32_t n;
	const char *other, *word;
};

static struct node *nd(const struct target *t)
{
	struct node *n = kern_fake_node(fake, t->n);

	return n && n->link ? n : NULL;
}

static void no_root(const struct target *t)
{
	nd(t)->tx = (struct tree){0};
}

static void other_rate(const struct target *t)
{
	if (nd(t)->tx.cap)
		nd(t)->tx.shape.rate = 7000000;
}

static void no_ifb(const struct target *t)
{
	struct node *n = nd(t);

	if (n->ifb) {
		op_effect(&(struct op){.kind = OP_LINK_DEL, .on = ON_IFB, .to.n = n->n}, n);
		n->steer = false;
	}
}

static void ifb_down(const struct target *t)
{
	nd(t)->ifb_up = false;
}

static void go_down(const struct target *t)
{
	nd(t)->up = false;
}

static void come_up(const struct target *t)
{
	nd(t)->up = true;
}

static void low_mtu(const struct target *t)
{
	nd(t)->mtu = 1300;
}

static void other_mac(const struct target *t)
{
	nd(t)->mac = (struct mac){{2, 0, 0, 9, 9, 9}};
}

static void no_alias(const struct target *t)
{
	nd(t)->marked = false;
}

static void no_link(const struct target *t)
{
	kern_fake_lose(fake, t->n);
}

static bool name_free(const struct target *t, const char *zone, const char *name)
{
	struct sys_link l;

	(void)t;
	return fake->ops->link(fake, zone, 0, name, &l, NULL) < 0;
}

static void other_name(const struct target *t)
{
	if (name_free(t, nd(t)->port.zone, t->word))
		snprintf(nd(t)->port.name, IFNAMSIZ, "%s", t->word);
}

static void elsewhere(const struct target *t)
{
	struct node *n = nd(t);

	if (!strcmp(n->port.zone, t->other) || (t->other[0] && !zone_there[zone_number(t->other)]) ||
	    !name_free(t, t->other, n->port.name))
		return;
	snprintf(n->port.zone, sizeof(n->port.zone), "%s", t->other);
	n->port.ifindex = kern_fake_new_ifindex(fake);
	n->up = n->quiet = false;
	n->tx = (struct tree){0};
}

/* %l the link by name, %z its namespace, %i its ifb, %o another namespace, %w a word */
static const struct foreign {
	const char *name, *real;
	void (*fake)(const struct target *t);
	bool up; /* the kernel tells of it while the link is up only */
} foreigns[] = {
	{.name = "root qdisc deleted", .real = "tc -n %z qdisc del dev %l root", .fake = no_root},
	{.name = "class changed",
	 .real = "tc -n %z class change dev %l parent 7fd0:ffff classid 7fd0:1 htb rate 7mbit ceil 7mbit",
	 .fake = other_rate},
	{.name = "ifb deleted", .real = "ip -n %h link del %i", .fake = no_ifb},
	{.name = "ifb down", .real = "ip -n %h link set %i down", .fake = ifb_down},
	{.name = "down", .real = "ip -n %z link set %l down", .fake = go_down},
	{.name = "up", .real = "ip -n %z link set %l up", .fake = come_up},
	{.name = "mtu 1300", .real = "ip -n %z link set %l mtu 1300", .fake = low_mtu},
	{.name = "mac", .real = "ip -n %z link set %l address 02:00:00:09:09:09", .fake = other_mac},
	{.name = "alias taken away", .real = "ip -n %z link set %l alias ''", .fake = no_alias, .up = true},
	{.name = "deleted", .real = "ip -n %z link del %l", .fake = no_link},
	{.name = "renamed", .real = "ip -n %z link set %l name %w", .fake = other_name},
	{.name = "moved", .real = "ip -n %z link set %l netns %o", .fake = elsewhere},
	{.name = "moved", .real = "ip -n %z link set %l netns %o", .fake = elsewhere},
};

static const char *host; /* the name of the daemon's own namespace */

static void put_word(FILE *out, char what, const struct node *n, const struct target *t)
{
	const char *zone = n->port.zone[0] ? n->port.zone : host;

	fputs(what == 'l'   ? n->port.name
	      : what == 'z' ? zone
	      : what == 'i' ? n->ifb_port.name
	      : what == 'o' ? (t->other[0] ? t->other : host)
	      : what == 'h' ? host
			    : t->word,
	      out);
}

static void shell(const char *line, const struct node *n, const struct target *t)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (const char *p = line; *p; p++)
		if (*p == '%')
			put_word(out, *++p, n, t);
		else
			fputc(*p, out);
	fputs(" 2>/dev/null", out);
	fclose(out);
	if (system(text) < 0)
		abort();
	free(text);
}

/* --- one step ------------------------------------------------------------------------------------------- */

static bool at_rest(const struct daemon *d)
{
	struct vlink *v, *next;

	HASH_ITER (hh_n, d->by_n, v, next)
		if (v->repair_timer)
			return false;
	return !d->dirty && !d->resync;
}

/* Runs one daemon's loop until nothing is told and nothing waits. */
static void settle(int side)
{
	struct side *s = &sides[side];
	int quiet = 0;

	now = side;
	for (int i = 0; i < AWHILE && quiet < 2; i++) {
		fake_told = false;
		if (side == FAKE) {
			eventfd_write(fake_fd, 1);
			sd_event_run(s->event, 0);
		}
		if (sd_event_run(s->event, side == FAKE ? 1000 : 4000) > 0 || fake_told || !at_rest(s->d))
			quiet = 0;
		else
			quiet++;
	}
	if (quiet < 2)
		printf("step %u: %s does not come to rest (%s)\n", step, side == REAL ? "real" : "fake",
		       s->d->dirty    ? s->d->dirty->s.name
		       : s->d->resync ? "resync"
				      : "waits");
}

/* What a side says of its links; "differs" is what must not be. */
static void tell(struct side *s, FILE *out)
{
	static const char *const words[] = {"", "lost", "waiting", "overridden"};
	struct vlink *v, *next;
	struct node have;
	bool gone;

	/* The kernels' own words differ. */
	fprintf(out, "%.*s;", (int)strcspn(s->answer, ":"), s->answer);
	HASH_ITER (hh_n, s->d->by_n, v, next) {
		bool zone_gone = false;
		char what[80] = "";

		fprintf(out, " %s %s", v->s.name, words[v->trouble]);
		if (v->trouble != TROUBLE_NONE ||
		    observe_vlink(s->d, v, vlink_zone(v), &have, &gone, NULL) < 0) {
			fputc(',', out);
			continue;
		}
		fprintf(out, "%s as %s in %s%s", have.up ? "up" : "down", have.port.name,
			have.port.zone[0] ? have.port.zone : "-", v->moved ? " moved" : "");
		if (reconcile_differs(s->d, v, &zone_gone, what, sizeof(what)))
			fprintf(out, " differs (%s)", what);
		fputc(',', out);
	}
}

static char *told(int side)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	now = side;
	tell(&sides[side], out);
	fclose(out);
	return text;
}

static void fail(const char *what, const char *a, const char *b)
{
	printf("step %u: %s\nreal: %s\nfake: %s\n", step, what, a, b);
	exit(1);
}

static void compare(const char *what)
{
	char *real = told(REAL), *other = told(FAKE);

	if (getenv("RANDOM_TRACE"))
		printf("%u %s (%s)\n  real: %s\n  fake: %s\n", step, what, sides[REAL].answer, real, other);
	if (strcmp(real, other) != 0 || strstr(real, "differs"))
		fail(what, real, other);
	free(real);
	free(other);
}

static void put_to_both(struct call *c)
{
	for (int i = 0; i < SIDES; i++) {
		now = i;
		sides[i].answer[0] = '\0';
		request_handle(sides[i].d, c);
		settle(i);
	}
	json_decref(c->params);
}

static void request(char *what, size_t size)
{
	struct call c = asks[any(sizeof(asks) / sizeof(*asks))]();
	char *text = json_dumps(c.params, 0);

	snprintf(what, size, "%s %s", c.method, text);
	free(text);
	put_to_both(&c);
}

/* In the end nothing is left, which the caller looks at. */
static void reset(void)
{
	struct call c = {"Reset", json_object()};

	put_to_both(&c);
	compare("Reset");
	if (strcmp(sides[REAL].answer, "accepted") != 0 || HASH_CNT(hh_n, sides[REAL].d->by_n))
		fail("Reset", sides[REAL].answer, sides[FAKE].answer);
}

static struct vlink *some_link(struct daemon *d)
{
	unsigned count = HASH_CNT(hh_n, d->by_n), at = count ? any(count) : 0;
	struct vlink *v, *next;

	HASH_ITER (hh_n, d->by_n, v, next)
		if (at-- == 0)
			return v;
	return NULL;
}

static void meddle(char *what, size_t size)
{
	static const char *const words[] = {"x0", "x1", "v0", "v1", "v2"};
	struct vlink *v = some_link(sides[REAL].d);
	const struct foreign *f = &foreigns[any(sizeof(foreigns) / sizeof(*foreigns))];
	struct target t = {.other = any_zone(), .word = words[any(5)]};
	struct node have;
	bool gone;

	now = REAL;
	if (!v || v->s.class != CLASS_VNIC || v->trouble == TROUBLE_WAITING || v->trouble == TROUBLE_LOST ||
	    observe_vlink(sides[REAL].d, v, vlink_zone(v), &have, &gone, NULL) < 0 || !have.link ||
	    (f->up && !have.up))
		return;
	t.n = v->s.n;
	snprintf(what, size, "%s %s (other %s, word %s)", v->s.name, f->name, t.other, t.word);
	shell(f->real, &have, &t);
	if (nd(&t))
		f->fake(&t);
	settle(REAL);
	settle(FAKE);
}

static const struct node nowhere;

static void zone_comes_or_goes(char *what, size_t size)
{
	unsigned i = any((unsigned)zone_count);
	struct target t = {.other = zones[i], .word = ""};

	zone_there[i] = !zone_there[i];
	snprintf(what, size, "zone %s %s", zones[i], zone_there[i] ? "comes" : "goes");
	shell(zone_there[i] ? "ip netns add %o" : "ip netns del %o", &nowhere, &t);
	kern_fake_zone(fake, zones[i], zone_there[i]);
	/* The kernel takes its time to end a namespace. */
	for (int n = 0; n < 40 && !zone_there[i]; n++)
		sd_event_run(sides[REAL].event, 5000);
	settle(REAL);
	settle(FAKE);
}

static void add_parent(const char *name)
{
	struct sys_link l = {.ifindex = kern_fake_new_ifindex(fake), .mtu = 1500, .type = 1, .flags = 1};

	snprintf(l.name, sizeof(l.name), "%s", name);
	snprintf(l.kind, sizeof(l.kind), "veth");
	l.has_mac = true;
	kern_fake_add_link(fake, &l);
}

static void mtu_of(struct sys_link *l, uint32_t mtu)
{
	uint32_t n = 0;

	l->mtu = mtu;
	for (n = 1; n < 100000; n++) {
		struct node *node = kern_fake_node(fake, n);

		if (node && node->link && node->parent.ifindex == l->ifindex && node->mtu > mtu)
			node->mtu = mtu;
		if (n > 4000)
			break;
	}
}

/* eth1: gone and back; eth0: down, up, its MTU, its name. */
static void parent(char *what, size_t size)
{
	struct target t = {.other = "", .word = ""};
	struct sys_link *l;
	const char *line;

	switch (any(6)) {
	case 0:
		snprintf(what, size, "eth1 goes");
		line = "ip -n %h link del eth1";
		kern_fake_drop_link(fake, "eth1");
		break;
	case 1:
		snprintf(what, size, "eth1 comes");
		line = "ip -n %h link add eth1 type veth peer name peer1; ip -n %h link set eth1 up";
		if (!kern_fake_link(fake, "eth1"))
			add_parent("eth1");
		break;
	case 2:
		snprintf(what, size, "eth0 mtu 1400");
		line = "ip -n %h link set eth0 mtu 1400";
		if ((l = kern_fake_link(fake, "eth0")))
			mtu_of(l, 1400);
		break;
	case 3:
		snprintf(what, size, "eth0 mtu 1500");
		line = "ip -n %h link set eth0 mtu 1500";
		if ((l = kern_fake_link(fake, "eth0")))
			mtu_of(l, 1500);
		break;
	case 4:
		snprintf(what, size, "eth0 down and up");
		line = "ip -n %h link set eth0 down; ip -n %h link set eth0 up";
		break;
	default:
		snprintf(what, size, "eth0 renamed and back");
		line = "ip -n %h link set eth0 down; ip -n %h link set eth0 name wan0; "
		       "ip -n %h link set wan0 name eth0; ip -n %h link set eth0 up";
	}
	shell(line, &nowhere, &t);
	settle(REAL);
	settle(FAKE);
}

static void open_side(int side)
{
	struct side *s = &sides[side];
	struct err e = {0};
	char text[700];

	now = side;
	if (daemon_open(&s->options, s->event, &s->d, &e) < 0) {
		printf("step %u: no daemon: %s\n", step, err_str(&e, text, sizeof(text)));
		exit(1);
	}
	settle(side);
}

static void restart(char *what, size_t size)
{
	snprintf(what, size, "restart");
	for (int i = 0; i < SIDES; i++) {
		now = i;
		sides[i].d = daemon_close(sides[i].d);
		open_side(i);
	}
}

static void one_step(void)
{
	static void (*const kinds[])(char *what, size_t size) = {
		request, request, request, request, request,
		request, request, meddle,  meddle,  meddle,
		meddle,  meddle,  meddle,  parent,  zone_comes_or_goes,
		restart,
	};
	char what[400] = "nothing";

	sides[REAL].answer[0] = sides[FAKE].answer[0] = '\0';
	kinds[any(sizeof(kinds) / sizeof(*kinds))](what, sizeof(what));
	compare(what);
}

static void prepare(int side, const char *dir, const char *bpf)
{
	static char state[SIDES][512];
	struct side *s = &sides[side];

	snprintf(state[side], sizeof(state[side]), "%s/%s", dir, side == REAL ? "real" : "fake");
	mkdir(state[side], 0700);
	s->options = (struct options){.state_dir = state[side], .bpf_dir = bpf, .socket = ""};
	if (sd_event_new(&s->event) < 0)
		abort();
}

int main(int argc, char **argv)
{
	unsigned steps;

	if (argc < 7) {
		fprintf(stderr, "usage: random SEED STEPS DIR BPF-DIR HOST ZONE...\n");
		return 2;
	}
	setlinebuf(stdout);
	srandom((unsigned)strtoul(argv[1], NULL, 10));
	steps = (unsigned)strtoul(argv[2], NULL, 10);
	host = argv[5];
	log_set_level(log_level_parse(getenv("RANDOM_TRACE") ? "info" : "error"));
	if (kern_fake_new(&fake) < 0 || (fake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0)
		return 2;
	for (int i = 6; i < argc && zone_count < ZONES; i++) {
		zones[zone_count] = argv[i];
		zone_there[zone_count++] = true;
		kern_fake_zone(fake, argv[i], true);
	}
	add_parent("eth0");
	add_parent("eth1");
	for (int i = 0; i < SIDES; i++) {
		prepare(i, argv[3], argv[4]);
		open_side(i);
	}
	for (step = 1; step <= steps; step++)
		one_step();
	reset();
	for (int i = 0; i < SIDES; i++) {
		now = i;
		daemon_close(sides[i].d);
		sd_event_unref(sides[i].event);
	}
	printf("%u steps, both the same\n", steps);
	return 0;
}
