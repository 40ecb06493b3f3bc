/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The real kernel: its handle, its sockets, and the table that says which function carries out which
 * operation. Decides nothing: what to do is the plan's.
 */
#include "lib/kern/real.h"

#include "lib/kern/view.h"
#include "lib/nl/netns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int real_sock(struct real *r, const char *zone, struct nl_sock **ret, struct err *e)
{
	int ns, rc;

	if (!zone[0]) {
		*ret = r->rt;
		return 0;
	}
	rc = netns_open(zone, &ns, e);
	if (rc)
		return rc;
	/* One port everywhere: by it our own doings are told from others'. */
	rc = sock_open_in(ns, r->own, nl_socket_get_local_port(r->rt), ret, e);
	close(ns);
	return rc;
}

void real_unsock(struct real *r, struct nl_sock *sk)
{
	if (sk != r->rt)
		sock_close(sk);
}

int real_enter(struct real *r, const char *zone, struct err *e)
{
	int ns, rc;

	if (!zone[0])
		return 0;
	rc = netns_open(zone, &ns, e);
	if (rc)
		return rc;
	rc = netns_enter(ns, e);
	close(ns);
	bpf_away(r->bpf, !rc);
	return rc;
}

void real_leave(struct real *r, const char *zone)
{
	if (!zone[0])
		return;
	netns_leave(r->own);
	bpf_away(r->bpf, false);
}

int real_fail(int rc, const char *object, const struct extack *x, struct err *e)
{
	if (rc == -ENODEV)
		return err_user(e, rc, object, "no such link");
	return err_sys(e, rc, object, "cannot ask the kernel: %s%s%s", strerror(-rc), x->text[0] ? ": " : "",
		       x->text);
}

/*
 * what: words for errors. goes: it takes something away, so op->from tells where, and what is gone already is
 * done. from: op->from tells where it is now. own: it happens in the own namespace. pins: it is due without a
 * link, too.
 */
static const struct row {
	int (*fn)(struct act *a);
	const char *what;
	bool goes, from, own, pins;
} rows[OP_COUNT] = {
	[OP_LINK_ADD] = {.fn = link_add, .what = "create it"},
	[OP_LINK_DEL] = {.fn = link_del, .what = "delete it", .goes = true},
	[OP_LINK_DOOM] = {.fn = link_doom, .what = "prepare its deletion", .goes = true},
	[OP_LINK_SWEEP] = {.fn = link_sweep, .what = "delete the doomed links", .own = true},
	[OP_LINK_MARK] = {.fn = link_mark, .what = "mark it as ours"},
	[OP_LINK_QUIET] = {.fn = link_quiet, .what = "set its IPv6 address generation"},
	[OP_LINK_UP] = {.fn = link_up, .what = "set it up or down"},
	[OP_LINK_MTU] = {.fn = link_mtu, .what = "set its MTU"},
	[OP_LINK_MAC] = {.fn = link_mac, .what = "set its MAC address"},
	[OP_LINK_RENAME] = {.fn = link_rename, .what = "rename it", .from = true},
	[OP_LINK_MOVE] = {.fn = link_move, .what = "move it", .from = true},
	[OP_PROG_ADD] = {.fn = prog_add, .what = "attach its hooks"},
	[OP_PROG_SET] = {.fn = prog_set, .what = "set its hooks", .own = true},
	[OP_PROG_DEL] = {.fn = prog_del, .what = "detach its hooks", .goes = true, .pins = true},
	[OP_ROOT_ADD] = {.fn = root_add, .what = "add its root qdisc"},
	[OP_ROOT_DEL] = {.fn = root_del, .what = "delete its root qdisc", .goes = true},
	[OP_CAP_ADD] = {.fn = cap_set, .what = "add its class"},
	[OP_CAP_SET] = {.fn = cap_set, .what = "change its class"},
	[OP_CAP_DEL] = {.fn = cap_del, .what = "delete its class", .goes = true},
	[OP_LEAF_ADD] = {.fn = leaf_set, .what = "add its queue"},
	[OP_LEAF_SET] = {.fn = leaf_set, .what = "change its queue"},
	[OP_LEAF_DEL] = {.fn = leaf_del, .what = "delete its queue", .goes = true},
	[OP_BANDS_ADD] = {.fn = bands_add, .what = "add its classes of priority"},
	[OP_BANDS_DEL] = {.fn = bands_del, .what = "delete its classes of priority", .goes = true},
	[OP_FLOWS_ADD] = {.fn = flows_add, .what = "attach its flows' hooks"},
	[OP_FLOWS_SET] = {.fn = flows_set, .what = "set its flows"},
	[OP_FLOWS_DEL] = {.fn = flows_del, .what = "take its flows away", .goes = true},
	[OP_DRAIN] = {.fn = tree_drain, .what = "wait for its queue"},
	[OP_STEER_ADD] = {.fn = steer_add, .what = "steer its frames", .own = true},
	[OP_STEER_DEL] = {.fn = steer_del, .what = "stop steering its frames", .goes = true, .own = true},
	[OP_HOOK_ADD] = {.fn = hook_add, .what = "attach the hook", .own = true},
	[OP_HOOK_DEL] = {.fn = hook_del, .what = "detach the hook", .goes = true, .own = true},
	[OP_ARP_SET] = {.fn = arp_set, .what = "set how it answers ARP", .own = true},
	[OP_ISO_SET] = {.fn = iso_set, .what = "isolate it", .own = true},
	[OP_ISO_DEL] = {.fn = iso_del, .what = "end its isolation", .goes = true, .own = true},
};

static bool is_gone(int rc)
{
	return rc == -ENODEV || rc == -ENOENT;
}

static int carry_out(struct act *a, const struct row *row)
{
	int rc = real_sock(a->r, row->own ? "" : a->port->zone, &a->sk, a->e);

	if (rc == -ENOENT && row->pins)
		a->sk = NULL; /* with the zone went the link, but not what is pinned */
	else if (rc)
		return rc;
	rc = row->fn(a);
	if (a->sk)
		real_unsock(a->r, a->sk);
	return rc;
}

static int real_apply(struct kernel *k, struct op *op, struct err *e)
{
	const struct row *row = &rows[op->kind];
	struct act a = {.r = real_of(k), .op = op, .what = row->what, .e = e};
	int rc;

	a.node = row->goes || row->from ? &op->from : &op->to;
	a.port = op_port(a.node, op->on);
	rc = carry_out(&a, row);
	return row->goes && is_gone(rc) ? 0 : rc;
}

static int real_observe_hook(struct kernel *k, int parent_ifindex, bool *ret, struct err *e)
{
	return view_hook(real_of(k), parent_ifindex, ret, e);
}

static int real_links(struct kernel *k, int (*cb)(const struct sys_link *l, void *arg), void *arg,
		      struct err *e)
{
	struct real *r = real_of(k);
	struct extack x = {};
	int rc;

	if (!view_each(r, r->rt, cb, arg, &rc))
		rc = link_each(r->rt, NULL, cb, arg, &x);
	return rc < 0 ? real_fail(rc, NULL, &x, e) : rc;
}

static int real_link(struct kernel *k, const char *zone, int ifindex, const char *name, struct sys_link *ret,
		     struct err *e)
{
	struct nl_sock *sk;
	struct link_view v;
	struct extack x = {};
	int rc = real_sock(real_of(k), zone, &sk, e);

	if (rc)
		return rc;
	rc = view_link(real_of(k), sk, ifindex, name, &v);
	/* It may be an alternative name. */
	if (rc == VIEW_NONE || (rc && !ifindex))
		rc = link_get(sk, ifindex, name, &v, &x);
	real_unsock(real_of(k), sk);
	if (rc)
		return real_fail(rc, name, &x, e);
	*ret = v.sys;
	return 0;
}

static int real_pins(struct kernel *k, int (*cb)(uint32_t n, int parent_ifindex, void *arg), void *arg,
		     struct err *e)
{
	return bpf_pins(real_of(k)->bpf, cb, arg, e);
}

static int real_steers(struct kernel *k, int (*cb)(int parent_ifindex, struct mac mac, void *arg), void *arg,
		       struct err *e)
{
	return bpf_steers(real_of(k)->bpf, cb, arg, e);
}

static void real_tidy(struct kernel *k)
{
	bpf_tidy(real_of(k)->bpf);
}

static void real_free(struct kernel *k)
{
	struct real *r = real_of(k);

	r->view = view_free(r->view);
	bpf_close(r->bpf);
	free(r->doomed);
	genl_close(r->ethtool);
	sock_close(r->events);
	sock_close(r->rt);
	if (r->own >= 0)
		close(r->own);
	free(r);
}

static const struct kernel_ops real_ops = {
	.observe = real_observe,
	.observe_hook = real_observe_hook,
	.apply = real_apply,
	.links = real_links,
	.link = real_link,
	.speed = real_speed,
	.stats = real_stats,
	.stats_all = real_stats_all,
	.drops = real_drops,
	.flow_change = real_flow_change,
	.flow_counts = real_flow_counts,
	.flow_odd = real_flow_odd,
	.shares_subnet = real_shares_subnet,
	.marked = real_marked,
	.pins = real_pins,
	.steers = real_steers,
	.isolated = real_isolated,
	.arp = real_arp,
	.iso = real_iso,
	.means = real_means,
	.survey = real_survey,
	.tidy = real_tidy,
	.free = real_free,
};

static int open_all(struct real *r, const struct kern_config *cfg, struct err *e)
{
	struct err no_ethtool;
	int rc = netns_own(&r->own, e);

	if (!rc)
		rc = sock_open(&r->rt, e);
	if (!rc)
		rc = events_open(&r->events, e);
	if (!rc)
		rc = bpf_open(cfg->bpf_dir, cfg->uuid, &r->kernel.acts, &r->bpf, e);
	if (!rc && genl_open("ethtool", &r->ethtool, &no_ethtool))
		r->ethtool = NULL; /* before 5.6: no link has a speed then */
	return rc;
}

int kern_real_new(const struct kern_config *cfg, struct kernel **ret, struct err *e)
{
	struct real *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return err_nomem(e);
	r->kernel.ops = &real_ops;
	r->own = -1;
	r->tick_ns = tree_tick_ns();
	snprintf(r->uuid, sizeof(r->uuid), "%s", cfg->uuid);
	rc = open_all(r, cfg, e);
	if (rc) {
		real_free(&r->kernel);
		return rc;
	}
	*ret = &r->kernel;
	return 0;
}
