/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan, the operations and the undo against the in-memory kernel: every pair out of a set of states, and
 * a failure at every single step.
 */
#include "lib/kern/kern.h"
#include "lib/model/flowset.h"
#include "vnicd/apply.h"
#include "vnicd/plan.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARENT 7

struct look {
	const char *zone, *name; /* name NULL: vnic3 */
	uint64_t rx, tx;         /* 0 none, 1 blocked */
	uint32_t mtu;
	bool there, down, isolated;
};

static const struct look looks[] = {
	{.there = false},
	{.there = true, .zone = "", .mtu = 1500},
	{.there = true, .zone = "", .mtu = 1400, .rx = 100000000, .tx = 100000000},
	{.there = true, .zone = "a", .mtu = 1500, .rx = 1000000, .tx = 1000000},
	{.there = true, .zone = "a", .mtu = 1500, .rx = 5000000000},
	{.there = true, .zone = "b", .mtu = 9000, .tx = 64000},
	{.there = true, .zone = "b", .mtu = 1500, .rx = 1, .tx = 1},
	{.there = true, .zone = "", .mtu = 1500, .rx = 1, .tx = 10000000, .down = true},
	{.there = true, .zone = "a", .mtu = 1500, .rx = 10000000, .tx = 1},
	{.there = true, .zone = "a", .name = "web0", .mtu = 1500, .rx = 10000000, .tx = 1},
	{.there = true, .zone = "", .name = "web0", .mtu = 1400, .down = true},
	{.there = true, .zone = "", .mtu = 1500, .rx = 10000000, .isolated = true},
};
#define LOOKS (sizeof(looks) / sizeof(*looks))

static void tree_of_rate(struct tree *t, uint64_t rate, uint32_t mtu)
{
	if (rate > 1)
		*t = (struct tree){.root = true, .cap = true, .leaf = true, .shape = shape_for(rate, mtu)};
}

static struct node node_of(const struct look *k)
{
	struct node n = {.n = 3, .class = CLASS_VNIC, .mac = {{2, 8, 0x20, 1, 2, 3}}};

	snprintf(n.kind, sizeof(n.kind), "macvlan");
	snprintf(n.port.name, sizeof(n.port.name), "%s", k->name ? k->name : "vnic3");
	snprintf(n.parent.name, sizeof(n.parent.name), "eth0");
	n.parent.ifindex = PARENT;
	node_ifb_name(3, n.ifb_port.name);
	if (!k->there)
		return n;
	snprintf(n.port.zone, sizeof(n.port.zone), "%s", k->zone);
	n.link = n.marked = true;
	n.quiet = !k->zone[0];
	n.up = !k->down;
	if (k->isolated) {
		n.iso = ISO_ON;
		n.arp = n.parent_arp = arp_strict((struct arp){0});
	}
	n.mtu = k->mtu;
	tree_of_rate(&n.tx, k->tx, k->mtu);
	tree_of_rate(&n.rx, k->rx, k->mtu);
	n.ifb = n.ifb_marked = n.ifb_quiet = n.ifb_up = n.steer = n.rx.root;
	if (k->rx || k->tx)
		n.prog = (struct prog){.present = true,
				       .rx = k->rx == 1 ? HOOK_DROP
					     : k->rx    ? HOOK_POLICE
							: HOOK_PASS,
				       .tx = k->tx == 1 ? HOOK_DROP : HOOK_PASS,
				       .group_rate = k->rx > 1 ? k->rx : 0};
	return n;
}

static struct kernel *kernel_with(const struct node *n)
{
	struct kernel *k;
	struct op_list ops = {0};
	struct node nothing = node_of(&looks[0]);

	ck_assert_int_eq(kern_fake_new(&k), 0);
	ck_assert_int_eq(plan_node(n, &nothing, &ops), 0);
	ck_assert_int_eq(apply_ops(k, &ops, NULL), 0);
	op_list_free(&ops);
	return k;
}

static struct node seen(struct kernel *k, const struct node *key)
{
	struct node n;

	ck_assert_int_eq(k->ops->observe(k, key, &n, NULL), 0);
	return n;
}

START_TEST(from_every_look_to_every_other)
{
	struct node have = node_of(&looks[_i / LOOKS]), want = node_of(&looks[_i % LOOKS]);
	struct op_list ops = {0};
	struct kernel *k = kernel_with(&have);
	struct node now;

	ck_assert_int_eq(plan_node(&want, &have, &ops), 0);
	ck_assert_int_eq(apply_ops(k, &ops, NULL), 0);
	now = seen(k, &want);
	ck_assert_str_eq(node_differs(&want, &now), "nothing");
	op_list_free(&ops);
	/* And then there is nothing left to do. */
	ck_assert_int_eq(plan_node(&want, &now, &ops), 0);
	ck_assert_uint_eq(ops.count, 0);
	kern_free(k);
}
END_TEST

/*
 * The undo takes back each operation; what went with a deleted link (alias, tree) comes back by the plan that
 * follows it, as in reconcile.c.
 */
static void assert_as_before(struct kernel *k, const struct node *before)
{
	struct node now = seen(k, before);
	struct op_list ops = {0};

	ck_assert_int_eq(now.link, before->link);
	ck_assert_int_eq(now.ifb, before->ifb);
	ck_assert_int_eq(now.steer, before->steer);
	ck_assert_int_eq(now.prog.present, before->prog.present);
	kern_fake_fail_at(k, 0);
	ck_assert_int_eq(plan_node(before, &now, &ops), 0);
	ck_assert_int_eq(apply_ops(k, &ops, NULL), 0);
	op_list_free(&ops);
	now = seen(k, before);
	ck_assert_str_eq(node_differs(before, &now), "nothing");
}

START_TEST(a_failure_at_every_step_changes_nothing)
{
	struct node have = node_of(&looks[_i / LOOKS]), want = node_of(&looks[_i % LOOKS]);
	struct op_list ops = {0};
	size_t steps;

	ck_assert_int_eq(plan_node(&want, &have, &ops), 0);
	steps = ops.count;
	op_list_free(&ops);
	for (size_t at = 1; at <= steps; at++) {
		struct kernel *k = kernel_with(&have);
		struct err e = {0};

		ck_assert_int_eq(plan_node(&want, &have, &ops), 0);
		kern_fake_fail_at(k, (unsigned)at);
		ck_assert_int_eq(apply_ops(k, &ops, &e), -EIO);
		ck_assert_ptr_nonnull(strstr(e.text, "made to fail"));
		assert_as_before(k, &have);
		op_list_free(&ops);
		kern_free(k);
	}
}
END_TEST

static size_t index_of(const struct op_list *l, enum op_kind kind, enum op_on on)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->ops[i].kind == kind && l->ops[i].on == on)
			return i;
	ck_abort_msg("no %s in the plan", op_name(kind));
	return 0;
}

START_TEST(caps_stand_before_the_link_is_up)
{
	struct node want = node_of(&looks[3]), have = node_of(&looks[0]);
	struct op_list ops = {0};
	size_t up;

	ck_assert_int_eq(plan_node(&want, &have, &ops), 0);
	up = index_of(&ops, OP_LINK_UP, ON_LINK);
	ck_assert_uint_eq(up, ops.count - 1);
	ck_assert_uint_lt(index_of(&ops, OP_LEAF_ADD, ON_IFB), index_of(&ops, OP_STEER_ADD, ON_IFB));
	ck_assert_uint_lt(index_of(&ops, OP_LINK_UP, ON_IFB), index_of(&ops, OP_STEER_ADD, ON_IFB));
	ck_assert_uint_lt(index_of(&ops, OP_LEAF_ADD, ON_LINK), up);
	op_list_free(&ops);
}
END_TEST

/* The rate doubles at most from one drain to the next, and is open at last. */
static void assert_opened_in_steps(const struct op_list *ops, enum op_on on, uint64_t rate)
{
	for (size_t i = 0; i < ops->count; i++) {
		struct node n = ops->ops[i].to;

		if (ops->ops[i].kind != OP_CAP_SET || ops->ops[i].on != on)
			continue;
		ck_assert_uint_le(op_tree(&n, on)->shape.rate, 2 * rate);
		ck_assert_int_eq(ops->ops[i + 1].kind, OP_DRAIN);
		rate = op_tree(&n, on)->shape.rate;
	}
	ck_assert_uint_eq(rate, RATE_OPEN);
}

START_TEST(a_cap_that_goes_is_drained_first)
{
	struct node have = node_of(&looks[3]), want = node_of(&looks[3]);
	struct op_list ops = {0};

	want.tx = want.rx = (struct tree){0};
	want.ifb = want.ifb_marked = want.ifb_quiet = want.ifb_up = want.steer = false;
	want.prog = (struct prog){0};
	ck_assert_int_eq(plan_node(&want, &have, &ops), 0);
	ck_assert_uint_lt(index_of(&ops, OP_DRAIN, ON_IFB), index_of(&ops, OP_STEER_DEL, ON_IFB));
	ck_assert_uint_lt(index_of(&ops, OP_STEER_DEL, ON_IFB), index_of(&ops, OP_LINK_DEL, ON_IFB));
	ck_assert_uint_lt(index_of(&ops, OP_DRAIN, ON_LINK), index_of(&ops, OP_ROOT_DEL, ON_LINK));
	assert_opened_in_steps(&ops, ON_LINK, have.tx.shape.rate);
	assert_opened_in_steps(&ops, ON_IFB, have.rx.shape.rate);
	op_list_free(&ops);
}
END_TEST

/* The zone it comes to must not see its old name, and nothing of it is made again for a name. */
START_TEST(a_name_is_one_operation_and_comes_before_the_move)
{
	struct node have = node_of(&looks[8]), there = node_of(&looks[9]), here = node_of(&looks[10]);
	struct op_list ops = {0};

	ck_assert_int_eq(plan_node(&there, &have, &ops), 0);
	ck_assert_uint_eq(ops.count, 1);
	ck_assert_int_eq(ops.ops[0].kind, OP_LINK_RENAME);
	op_list_free(&ops);
	ck_assert_int_eq(plan_node(&here, &have, &ops), 0);
	ck_assert_uint_lt(index_of(&ops, OP_LINK_RENAME, ON_LINK), index_of(&ops, OP_LINK_MOVE, ON_LINK));
	op_list_free(&ops);
}
END_TEST

START_TEST(a_new_rate_is_set_in_place)
{
	struct node have = node_of(&looks[3]), want = node_of(&looks[3]);
	struct op_list ops = {0};

	want.tx.shape = want.rx.shape = shape_for(2000000, 1500);
	want.prog.group_rate = 2000000;
	ck_assert_int_eq(plan_node(&want, &have, &ops), 0);
	for (size_t i = 0; i < ops.count; i++)
		ck_assert(ops.ops[i].kind == OP_CAP_SET || ops.ops[i].kind == OP_LEAF_SET ||
			  ops.ops[i].kind == OP_PROG_SET);
	ck_assert_uint_ge(ops.count, 3);
	op_list_free(&ops);
}
END_TEST

/* count nodes with caps, links in the own namespace or not, planned away in one list. */
static void plan_away(struct kernel *k, const struct look *look, int count, struct op_list *gone)
{
	for (int i = 0; i < count; i++) {
		struct node have = node_of(look), nothing, want;
		struct op_list ops = {0};

		have.n = (uint32_t)(3 + i);
		want = nothing = node_of(&looks[0]);
		want.n = nothing.n = have.n;
		ck_assert_int_eq(plan_node(&have, &nothing, &ops), 0);
		ck_assert_int_eq(apply_ops(k, &ops, NULL), 0);
		op_list_free(&ops);
		have = seen(k, &have);
		ck_assert_int_eq(plan_node(&want, &have, gone), 0);
	}
	ck_assert_int_eq(op_list_group_deletions(gone), 0);
}

START_TEST(many_deletions_are_one)
{
	/* The VNICs themselves are in zone a for looks[3]: only their ifbs are of the own namespace. */
	static const struct {
		int look, count;
		size_t deletions, dooms;
	} rows[] = {{2, 1, 2, 0}, {2, 2, 0, 4}, {2, 50, 0, 100}, {3, 2, 4, 0}, {3, 50, 50, 50}};
	struct op_list ops = {0};
	size_t found[OP_COUNT] = {0};
	struct kernel *k;

	ck_assert_int_eq(kern_fake_new(&k), 0);
	plan_away(k, &looks[rows[_i].look], rows[_i].count, &ops);
	for (size_t i = 0; i < ops.count; i++)
		found[ops.ops[i].kind]++;
	ck_assert_uint_eq(found[OP_LINK_DEL], rows[_i].deletions);
	ck_assert_uint_eq(found[OP_LINK_DOOM], rows[_i].dooms);
	ck_assert_uint_eq(found[OP_LINK_SWEEP], rows[_i].dooms > 0);
	ck_assert_int_eq(apply_ops(k, &ops, NULL), 0);
	for (int i = 0; i < rows[_i].count; i++) {
		struct node key = node_of(&looks[rows[_i].look]), now;

		key.n = (uint32_t)(3 + i);
		now = seen(k, &key);
		ck_assert(!now.link && !now.ifb && !now.steer && !now.prog.present);
	}
	op_list_free(&ops);
	kern_free(k);
}
END_TEST

/* Hooks of what goes are put off until it is gone; of a link that moves the new ones must not go in their
 * place. */
START_TEST(the_hooks_of_what_stays_are_not_put_off)
{
	struct node have = node_of(&looks[2]), want = node_of(&looks[3]);
	struct op_list ops = {0};
	size_t last = 0;
	struct kernel *k;

	have.n = want.n = 9;
	ck_assert_int_eq(kern_fake_new(&k), 0);
	ck_assert_int_eq(plan_node(&want, &have, &ops), 0);
	plan_away(k, &looks[2], 2, &ops);
	ck_assert_uint_lt(index_of(&ops, OP_PROG_DEL, ON_LINK), index_of(&ops, OP_PROG_ADD, ON_LINK));
	for (size_t i = 0; i < ops.count; i++)
		if (ops.ops[i].kind == OP_PROG_DEL && ops.ops[i].from.n == have.n)
			last = i;
	ck_assert_uint_lt(last, index_of(&ops, OP_PROG_ADD, ON_LINK));
	op_list_free(&ops);
	kern_free(k);
}
END_TEST

START_TEST(a_failed_sweep_leaves_everything)
{
	struct op_list ops = {0};
	struct err e = {0};
	struct kernel *k;

	ck_assert_int_eq(kern_fake_new(&k), 0);
	plan_away(k, &looks[2], 4, &ops);
	kern_fake_fail_at(k, (unsigned)index_of(&ops, OP_LINK_SWEEP, ON_LINK) + 1);
	ck_assert_int_eq(apply_ops(k, &ops, &e), -EIO);
	for (int i = 0; i < 4; i++) {
		struct node want = node_of(&looks[2]), now;

		want.n = (uint32_t)(3 + i);
		now = seen(k, &want);
		ck_assert(!now.doomed && !now.ifb_doomed);
		assert_as_before(k, &want);
	}
	op_list_free(&ops);
	kern_free(k);
}
END_TEST

START_TEST(the_queue_is_ready_for_the_larger_frame)
{
	struct node small = node_of(&looks[3]), large = node_of(&looks[3]);
	struct op_list ops = {0};

	large.mtu = 9000;
	large.tx.shape = large.rx.shape = shape_for(1000000, 9000);
	ck_assert_int_eq(plan_node(&large, &small, &ops), 0);
	ck_assert_uint_lt(index_of(&ops, OP_LEAF_SET, ON_LINK), index_of(&ops, OP_LINK_MTU, ON_LINK));
	ck_assert_uint_lt(index_of(&ops, OP_LEAF_SET, ON_IFB), index_of(&ops, OP_LINK_MTU, ON_LINK));
	op_list_free(&ops);
	ck_assert_int_eq(plan_node(&small, &large, &ops), 0);
	ck_assert_uint_lt(index_of(&ops, OP_LINK_MTU, ON_LINK), index_of(&ops, OP_LEAF_SET, ON_LINK));
	op_list_free(&ops);
}
END_TEST

/* A link that others made: nothing; only counted; capped one way, the other, both ways; blocked both ways. */
static const struct {
	bool there;
	uint64_t rx, tx; /* as above */
} foreign_looks[] = {{.there = false},
		     {.there = true},
		     {.there = true, .tx = 50000000},
		     {.there = true, .rx = 1000000000},
		     {.there = true, .rx = 64000, .tx = 5000000000},
		     {.there = true, .rx = 1, .tx = 1}};
#define FOREIGN_LOOKS (sizeof(foreign_looks) / sizeof(*foreign_looks))

static struct node foreign_node(int i)
{
	static const struct flow_set no_flows;
	uint64_t rx = foreign_looks[i].rx, tx = foreign_looks[i].tx;
	struct node n = {.n = 3, .class = CLASS_FOREIGN, .mac = {{2, 0, 0x5e, 1, 2, 3}}};

	snprintf(n.kind, sizeof(n.kind), "ifb");
	snprintf(n.parent.name, sizeof(n.parent.name), "eth0");
	n.parent.ifindex = PARENT;
	node_out_name(3, n.port.name);
	node_ifb_name(3, n.ifb_port.name);
	n.flow_set = &no_flows;
	if (!foreign_looks[i].there)
		return n;
	n.link = n.marked = n.quiet = n.up = true;
	n.mtu = 1500;
	n.flows = FLOWS_ON;
	tree_of_rate(&n.tx, tx, n.mtu);
	tree_of_rate(&n.rx, rx, n.mtu);
	n.ifb = n.ifb_marked = n.ifb_quiet = n.ifb_up = n.steer = n.rx.root;
	n.prog = (struct prog){.present = true,
			       .rx = rx == 1 ? HOOK_DROP
				     : rx    ? HOOK_POLICE
					     : HOOK_PASS,
			       .tx = tx == 1 ? HOOK_DROP : HOOK_PASS,
			       .group_rate = rx > 1 ? rx : 0,
			       .theirs = true,
			       .all = n.tx.root,
			       .out = n.tx.root,
			       .own = n.mac};
	return n;
}

/* Frames are led to our link from then on only when it is up, has its tree, and the programs say which they
 * are.
 */
static void assert_led_well(const struct op *op)
{
	const struct node *n = &op->to;

	if (!n->prog.present || !n->prog.out)
		return;
	ck_assert(n->link && n->up && n->tx.root && n->tx.cap);
	if (!op->from.prog.present || !op->from.prog.out)
		ck_assert_int_eq(n->flows, FLOWS_ON);
}

/* What the in-memory kernel cannot tell from flows that lost their classes is set once more, and that is all.
 */
static void assert_settled(struct kernel *k, const struct node *want)
{
	struct node now = seen(k, want);
	struct op_list ops = {0};

	ck_assert_int_eq(plan_node(want, &now, &ops), 0);
	ck_assert_uint_le(ops.count, 1);
	if (ops.count)
		ck_assert_int_eq(ops.ops[0].kind, OP_FLOWS_SET);
	ck_assert_int_eq(apply_ops(k, &ops, NULL), 0);
	op_list_free(&ops);
	now = seen(k, want);
	ck_assert_str_eq(node_differs(want, &now), "nothing");
}

START_TEST(a_link_of_others_is_never_led_astray)
{
	struct node have = foreign_node(_i / (int)FOREIGN_LOOKS),
		    want = foreign_node(_i % (int)FOREIGN_LOOKS);
	struct node nothing = foreign_node(0);
	struct op_list ops = {0};
	struct kernel *k;

	ck_assert_int_eq(kern_fake_new(&k), 0);
	ck_assert_int_eq(plan_node(&have, &nothing, &ops), 0);
	ck_assert_int_eq(apply_ops(k, &ops, NULL), 0);
	op_list_free(&ops);
	ck_assert_int_eq(plan_node(&want, &have, &ops), 0);
	for (size_t i = 0; i < ops.count; i++) {
		assert_led_well(&ops.ops[i]);
		/* Nobody silences a link that is not ours, but who asks for it. */
		if (ops.ops[i].kind == OP_PROG_SET && want.prog.tx != HOOK_DROP && have.prog.tx != HOOK_DROP)
			ck_assert_int_ne(ops.ops[i].to.prog.tx, HOOK_DROP);
	}
	ck_assert_int_eq(apply_ops(k, &ops, NULL), 0);
	op_list_free(&ops);
	assert_settled(k, &want);
	kern_free(k);
}
END_TEST

START_TEST(every_op_has_its_name_and_inverse)
{
	static const enum op_kind one_way[] = {OP_LINK_MARK, OP_LINK_SWEEP, OP_DRAIN, OP_FLOWS_SET};
	struct node n = node_of(&looks[3]);
	struct op op = {.kind = _i, .on = ON_LINK, .yes = true, .from = n, .to = n}, inverse, again;

	ck_assert_str_ne(op_name(_i), "");
	if (!op_inverse(&op, &inverse)) {
		ck_assert(one_way[0] == op.kind || one_way[1] == op.kind || one_way[2] == op.kind ||
			  one_way[3] == op.kind);
		return;
	}
	/* What takes a doom back is a mark, and that is all there is to it. */
	if (op.kind == OP_LINK_DOOM)
		return;
	ck_assert(op_inverse(&inverse, &again));
	ck_assert_int_eq(again.kind, op.kind);
	ck_assert_int_eq(again.yes, op.yes);
}
END_TEST

START_TEST(shapes_keep_their_promises)
{
	static const uint64_t rates[] = {64000,     1000000,    10000000,   99000000,    100000000,
					 250000000, 1000000000, 5000000000, 34400000000, 400000000000};
	static const uint32_t mtus[] = {68, 1280, 1500, 9000, 65535};

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
		for (size_t j = 0; j < sizeof(mtus) / sizeof(*mtus); j++) {
			struct shape s = shape_for(rates[i], mtus[j]);
			uint32_t frame = mtus[j] + 14;

			ck_assert_uint_eq(s.rate, rates[i]);
			ck_assert_uint_eq(shape_for(rates[i] + 7, mtus[j]).rate, rates[i]);
			ck_assert_uint_ge(s.burst, 2 * frame);
			/* So much passes a cap at once after a silence. */
			ck_assert_uint_le(s.burst,
					  rates[i] / 8 / 200 > 2 * frame ? rates[i] / 8 / 200 : 2 * frame);
			ck_assert_uint_ge(s.quantum, frame);
			ck_assert_uint_le(s.quantum, frame > 60000 ? frame : 60000);
			ck_assert_uint_ge(s.limit, 5 * frame);
			ck_assert_uint_ge(s.limit, 10 * (frame < 1514 ? frame : 1514));
			/* A full queue of a rate from 10M on is never older than 60 ms, but for ten frames.
			 */
			if (rates[i] >= 10000000 && s.limit > 10 * 1514 && s.limit > 5 * frame)
				ck_assert_uint_le((uint64_t)s.limit * 8 * 1000 / rates[i], 60);
			ck_assert(s.segment == (s.seg_burst != 0));
		}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("plan");
	TCase *t = tcase_create("plan");

	tcase_add_loop_test(t, from_every_look_to_every_other, 0, LOOKS * LOOKS);
	tcase_add_loop_test(t, a_failure_at_every_step_changes_nothing, 0, LOOKS * LOOKS);
	tcase_add_loop_test(t, a_link_of_others_is_never_led_astray, 0, FOREIGN_LOOKS * FOREIGN_LOOKS);
	tcase_add_loop_test(t, every_op_has_its_name_and_inverse, 0, OP_COUNT);
	tcase_add_loop_test(t, many_deletions_are_one, 0, 5);
	tcase_add_test(t, the_hooks_of_what_stays_are_not_put_off);
	tcase_add_test(t, a_failed_sweep_leaves_everything);
	tcase_add_test(t, the_queue_is_ready_for_the_larger_frame);
	tcase_add_test(t, caps_stand_before_the_link_is_up);
	tcase_add_test(t, a_cap_that_goes_is_drained_first);
	tcase_add_test(t, a_name_is_one_operation_and_comes_before_the_move);
	tcase_add_test(t, a_new_rate_is_set_in_place);
	tcase_add_test(t, shapes_keep_their_promises);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *r = srunner_create(suite());
	int failed;

	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
