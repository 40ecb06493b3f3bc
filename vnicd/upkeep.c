/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reapply and reset: which links they are about and what the caller is told. The doing is mend.c's,
 * reconcile.c's and adopt.c's. */
#include "vnicd/upkeep.h"

#include "vnicd/adopt.h"
#include "vnicd/apply.h"
#include "vnicd/dryrun.h"
#include "vnicd/foreign.h"
#include "vnicd/mend.h"
#include "vnicd/observe.h"
#include "vnicd/reconcile.h"
#include "vnicd/session.h"
#include "vnicd/unknown.h"

#include <errno.h>
#include <stdlib.h>

/* An etherstub comes before the VNICs on it. */
static int by_number(struct vlink *a, struct vlink *b)
{
	return a->s.n < b->s.n ? -1 : a->s.n > b->s.n;
}

static int put_right(struct daemon *d, struct vlink *v, struct err *e)
{
	char why[sizeof(v->why)];

	if (!d->dry)
		return mend_now(d, v, e);
	return reconcile_preview(d, v, why, sizeof(why)) == TROUBLE_NONE
		       ? 0
		       : err_user(e, -EAGAIN, v->s.name, "%s", why);
}

static void reapply_one(struct daemon *d, struct vlink *v, json_t *failed)
{
	struct err e = {0};

	observe_locate(d, v);
	if (put_right(d, v, &e) < 0)
		json_array_append_new(failed, json_pack("{s:s, s:s}", "link", v->s.name, "text", e.text));
}

static int find_ours(struct daemon *d, const char *name, struct vlink **ret, struct err *e)
{
	char buf[IFNAMSIZ];

	name = observe_name(d, name, buf);
	*ret = foreign_or_own(d, name);
	if (*ret)
		return 0;
	if (slink_by_name(d, name))
		return err_user(e, -EINVAL, name, "vnicd did not make it: there is nothing to apply again");
	return unknown_link(d, UNKNOWN_LINK, name, e);
}

void upkeep_reapply(struct daemon *d, struct call *c)
{
	const char *name = json_string_value(json_object_get(call_params(c), "link"));
	json_t *failed = json_array(), *reply;
	struct vlink *v, *next;
	struct err e = {0};

	if (name && name[0]) {
		if (find_ours(d, name, &v, &e) < 0) {
			json_decref(failed);
			call_fail(c, &e);
			return;
		}
		reapply_one(d, v, failed);
	} else {
		HASH_SRT(hh_n, d->by_n, by_number);
		HASH_ITER (hh_n, d->by_n, v, next)
			reapply_one(d, v, failed);
	}
	reply = json_pack("{s:o}", "failed", failed);
	dryrun_reply(d, reply);
	call_reply(c, reply, false);
}

/* What is above first: a row cannot go while another points to it. */
static size_t collect_all(struct daemon *d, struct change *changes)
{
	static const enum link_class order[] = {CLASS_FOREIGN, CLASS_VNIC, CLASS_VLAN, CLASS_ETHERSTUB};
	struct vlink *v, *next;
	size_t n = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		HASH_ITER (hh_n, d->by_n, v, next)
			if (v->s.class == order[i])
				changes[n++].old = v;
	return n;
}

static int delete_all(struct daemon *d, struct err *e)
{
	struct change *changes = calloc(HASH_CNT(hh_n, d->by_n) + 1, sizeof(*changes));
	size_t count;
	int r = 0;

	if (!changes)
		return err_nomem(e);
	count = collect_all(d, changes);
	if (count)
		r = reconcile_run(d, changes, count, e);
	free(changes);
	return r;
}

int upkeep_unmake(struct daemon *d, struct err *e)
{
	struct change *all = calloc(HASH_CNT(hh_n, d->by_n) + 1, sizeof(*all));
	size_t count = all ? collect_all(d, all) : 0;
	int r;

	if (!all)
		return err_nomem(e);
	for (size_t i = 0; i < count; i++)
		reconcile_unmake(d, all[i].old);
	free(all);
	r = adopt_sweep(d, e);
	if (r < 0)
		return r;
	apply_tidy(d->kernel);
	/* The next start makes all of it, as after a boot. */
	return store_world_put(d->store, "", e);
}

void upkeep_reset(struct daemon *d, struct call *c)
{
	struct err e = {0};
	json_t *reply;
	int r = delete_all(d, &e);

	if (r == 0)
		r = adopt_sweep(d, &e);
	if (r == 0 && !d->dry)
		r = store_idents_clear(d->store, &e);
	if (r < 0) {
		call_fail(c, &e);
		return;
	}
	reply = json_pack("{s:[]}", "notes");
	dryrun_reply(d, reply);
	call_reply(c, reply, false);
}
