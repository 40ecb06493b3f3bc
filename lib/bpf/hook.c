// SPDX-License-Identifier: GPL-2.0-or-later
/* The steering program on a parent's ingress: there or not. Sets no map entry; a gone hook's go with it. */
#include "lib/bpf/internal.h"

static int hook_seat(struct bpf *b, int ifindex, struct seat *s, struct err *e)
{
	int r;

	*s = (struct seat){.ifindex = ifindex, .side = SIDE_INGRESS, .yield = true, .acts = b->acts};
	r = pin_path(s->pin, e, "%s/hook-%d", b->dir, ifindex);
	return r ? r : pin_path(s->mark, e, "%s/hook-%d-clsact", b->dir, ifindex);
}

int bpf_hook_observe(struct bpf *b, int ifindex, bool *ret, struct err *e)
{
	struct seat s;
	int r = hook_seat(b, ifindex, &s, e);

	return r ? r : seat_observe(&s, b->hook_tag, ret, e);
}

int bpf_hook_add(struct bpf *b, int ifindex, struct err *e)
{
	struct seat s;
	int r = pins_stand(b, e);
	bool fresh;

	r = r ? r : hook_seat(b, ifindex, &s, e);
	fresh = !r && access(s.pin, F_OK);
	r = r ? r : seat_take(&s, hook_fd(b), b->hook_tag, e);
	if (r && fresh)
		seat_leave(&s, NULL);
	return r;
}

/* Its entries go first, and the filters behind it; the next device with this ifindex would inherit them. The
 * mark stays as long as something of ours is in the qdisc. */
int bpf_hook_del(struct bpf *b, int ifindex, struct err *e)
{
	char fresh[PIN_MAX];
	struct seat s;
	int r = hook_seat(b, ifindex, &s, e);

	r = r ? r : pin_path(fresh, e, "%s/hook-%d-new", b->dir, ifindex);
	if (!r && b->mirror)
		r = mirror_purge(b, ifindex, e);
	r = r ? r : steer_purge(b, ifindex, e);
	r = r ? r : seat_leave(&s, e);
	return r ? r : pin_remove(fresh, b->acts, e);
}
