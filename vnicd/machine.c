/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Automatic MAC addresses tied to this machine's id. Picks addresses and saves them; never touches a link. */
#include "vnicd/machine.h"

#include "vnicd/check.h"
#include "vnicd/log.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-id128.h>

/* What state.db says while the machine has no id; "" is a state.db that never knew of one. */
#define NO_MACHINE "-"

static const sd_id128_t our_app =
	SD_ID128_MAKE(6f, 1c, 8e, 52, 0b, d9, 4a, 37, 9d, 24, e1, 70, c5, 5a, 83, b6);

static_assert(IFNAMSIZ == sizeof(our_app.bytes), "a name and its try make an application's id");

/*
 * A keyed hash from the library: the name (15 bytes at most) and the try go into the application's id, so
 * that no two of them share one.
 */
static int keyed(const char *name, unsigned try, sd_id128_t *ret)
{
	sd_id128_t app = our_app;

	for (size_t i = 0; i < IFNAMSIZ - 1 && name[i]; i++)
		app.bytes[i] ^= (uint8_t)name[i];
	app.bytes[IFNAMSIZ - 1] ^= (uint8_t)try;
	return sd_id128_get_machine_app_specific(app, ret);
}

int machine_mac(const char *name, unsigned try, struct mac prefix, struct mac *ret)
{
	sd_id128_t hash;

	if (keyed(name, try, &hash) < 0)
		return -ENOMEDIUM;
	*ret = prefix;
	memcpy(ret->b + 3, hash.bytes, 3);
	return 0;
}

/* Whose state this is: a hash, since the machine's id itself is to be kept confidential. */
static void machine_text(char ret[SD_ID128_STRING_MAX])
{
	sd_id128_t hash;

	if (keyed("", 0, &hash) < 0)
		memcpy(ret, NO_MACHINE, sizeof(NO_MACHINE));
	else
		sd_id128_to_string(hash, ret);
}

static int redraw(struct daemon *d, struct vlink *v, struct err *e)
{
	struct mac before = v->s.mac;
	char text[18], old[18];
	int r;

	if (v->s.mac_type == MAC_FIXED)
		return 0;
	world_take(d, v);
	r = check_redraw(d, v, e);
	world_put_back(d, v);
	if (r < 0 || mac_equal(before, v->s.mac))
		return r;
	log_info(v->s.name, "this is another machine: MAC address %s instead of %s", mac_str(v->s.mac, text),
		 mac_str(before, old));
	return store_link_put(d->store, &v->s, e);
}

/* In the order of their numbers: a link that is taken out and put back comes last in its table. */
static int redraw_each(struct daemon *d, struct err *e)
{
	unsigned count = HASH_CNT(hh_n, d->by_n), i = 0;
	struct vlink **all = calloc(count + 1, sizeof(struct vlink *)), *v, *next;
	int r = all ? 0 : err_nomem(e);

	if (r == 0)
		HASH_ITER (hh_n, d->by_n, v, next)
			all[i++] = v;
	for (unsigned k = 0; k < i && r == 0; k++)
		r = redraw(d, all[k], e);
	free(all);
	return r;
}

static int redraw_all(struct daemon *d, const char *machine, struct err *e)
{
	int r = store_begin(d->store, e);

	if (r == 0)
		r = redraw_each(d, e);
	if (r == 0)
		r = store_machine_put(d->store, machine, e);
	if (r == 0)
		return store_commit(d->store, e);
	store_rollback(d->store);
	return r;
}

int machine_adopt(struct daemon *d, struct err *e)
{
	char before[64], now[SD_ID128_STRING_MAX];
	int r = store_machine_get(d->store, before, e);

	if (r < 0)
		return r;
	machine_text(now);
	if (!strcmp(now, NO_MACHINE))
		log_warning(NULL, "no machine id: automatic MAC addresses are random (see machine-id(5))");
	if (!strcmp(before, now) || (!strcmp(now, NO_MACHINE) && before[0]))
		return 0;
	return before[0] ? redraw_all(d, now, e) : store_machine_put(d->store, now, e);
}
