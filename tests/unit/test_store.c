/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store against a real file: what survives a reopen, a rollback, a kill and a full disk, and what is
 * refused. */
#include "vnicd/store.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];
static struct store *s;
static struct err e;

#define OK(call) ck_assert_msg((call) == 0, #call ": %s: %s", e.object, e.text)

static void reopen(void)
{
	s = store_close(s);
	OK(store_open(dir, &s, &e));
}

static void setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/test_store.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	OK(store_open(dir, &s, &e));
}

static void teardown(void)
{
	static const char *const files[] = {"state.db", "state.db-wal", "state.db-shm", "lock"};
	char path[128];

	s = store_close(s);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	ck_assert_int_eq(rmdir(dir), 0);
}

/* Runs SQL on the closed store's file, as somebody with sqlite3 would. */
static void edit(const char *sql)
{
	char path[128], *text = NULL;
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/state.db", dir);
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, &text) == SQLITE_OK, "%s", text);
	sqlite3_close(db);
}

static uint32_t add(const char *name, uint32_t over)
{
	struct store_link l = {
		.class = CLASS_VNIC,
		.over = over,
		.mac_type = MAC_FIXED,
		.mac = {.b = {2, 8, 0x20, 1, 2, 3}},
		.down = true,
	};

	snprintf(l.name, sizeof(l.name), "%s", name);
	OK(store_link_put(s, &l, &e));
	ck_assert_uint_ne(l.n, 0);
	return l.n;
}

struct seen {
	int count;
	struct store_link last;
	char text[512];
};

static int see_link(const struct store_link *l, void *arg)
{
	struct seen *seen = arg;

	seen->count++;
	seen->last = *l;
	return 0;
}

static int see_prop(const char *key, const char *value, const char *boot, void *arg)
{
	struct seen *seen = arg;
	size_t len = strlen(seen->text);

	seen->count++;
	snprintf(seen->text + len, sizeof(seen->text) - len, "%s=%s%s ", key, value, *boot ? "!" : "");
	return 0;
}

static struct seen links(void)
{
	struct seen seen = {0};

	OK(store_links(s, see_link, &seen, &e));
	return seen;
}

static struct seen props(uint32_t n)
{
	struct seen seen = {0};

	OK(store_props(s, n, see_prop, &seen, &e));
	return seen;
}

/* A VLAN is known by its number, and goes at the next start when nothing is on it. */
START_TEST(vlans)
{
	struct store_link vlan = {.class = CLASS_VLAN, .name = "eth0.7", .mac_type = MAC_AUTO, .vid = 7};
	struct store_link idle = {.class = CLASS_VLAN, .name = "eth0.8", .mac_type = MAC_AUTO, .vid = 8};
	struct store_link wrong = {
		.class = CLASS_VLAN, .name = "eth0.4095", .mac_type = MAC_AUTO, .vid = 4095};

	OK(store_link_put(s, &vlan, &e));
	ck_assert(links().last.class == CLASS_VLAN && links().last.vid == 7);
	add("vnic1", vlan.n);
	OK(store_link_put(s, &idle, &e));
	ck_assert_int_eq(store_link_put(s, &wrong, &e), -EINVAL);
	reopen();
	ck_assert_int_eq(links().count, 2);
	ck_assert(links().last.over == vlan.n && links().last.vid == 0);
}
END_TEST

START_TEST(survives_reopen)
{
	struct ident id = {.bus = "0000:01:00.0", .perm_mac = {.b = {2}}, .name = "eth0"}, id2;
	struct store_link l = {.class = CLASS_ETHERSTUB, .name = "stub0", .mac_type = MAC_AUTO};
	char uuid[64], world[128];
	uint32_t row;

	snprintf(uuid, sizeof(uuid), "%s", store_uuid(s));
	ck_assert_uint_eq(strlen(uuid), 36);
	OK(store_ident_put(s, &id, &row, &e));
	l.parent_row = row;
	OK(store_link_put(s, &l, &e));
	ck_assert_uint_eq(l.n, 1);
	ck_assert_uint_eq(add("vnic1", l.n), 2);
	OK(store_world_get(s, world, &e));
	ck_assert_str_eq(world, "");
	OK(store_world_put(s, "boot/7", &e));
	OK(store_world_put(s, "boot/8", &e));
	reopen();
	ck_assert_str_eq(store_uuid(s), uuid);
	OK(store_world_get(s, world, &e));
	ck_assert_str_eq(world, "boot/8");
	ck_assert_int_eq(links().count, 2);
	ck_assert_str_eq(links().last.name, "vnic1");
	ck_assert(links().last.over == 1 && links().last.class == CLASS_VNIC && links().last.down);
	ck_assert(links().last.mac_type == MAC_FIXED && links().last.mac.b[5] == 3);
	OK(store_ident_get(s, row, &id2, &e));
	ck_assert(!strcmp(id2.bus, id.bus) && mac_equal(id2.perm_mac, id.perm_mac) &&
		  !strcmp(id2.name, "eth0"));
	ck_assert_int_eq(store_ident_get(s, row + 1, &id2, &e), -ENOENT);
}
END_TEST

START_TEST(update_keeps_rows)
{
	struct store_link l;
	uint32_t n = add("vnic1", 0);

	OK(store_prop_put(s, n, "mtu", "1500", "", &e));
	l = links().last;
	l.down = false;
	snprintf(l.name, sizeof(l.name), "vnic7");
	OK(store_link_put(s, &l, &e));
	ck_assert(l.n == n && !links().last.down);
	ck_assert_str_eq(links().last.name, "vnic7");
	ck_assert_str_eq(props(n).text, "mtu=1500 ");
}
END_TEST

START_TEST(names_are_unique)
{
	struct store_link l = {.class = CLASS_VNIC, .name = "vnic1"};

	add("vnic1", 0);
	ck_assert_int_eq(store_link_put(s, &l, &e), -EEXIST);
	ck_assert_str_eq(e.object, "vnic1");
	ck_assert(e.mend && l.n == 0);
}
END_TEST

START_TEST(numbers_are_never_reused)
{
	uint32_t n = add("vnic1", 0);

	OK(store_link_del(s, n, &e));
	reopen();
	ck_assert_uint_eq(add("vnic1", 0), n + 1);
	OK(store_link_del(s, n + 1, &e));
	/* A number that only an intent knows is spent too. */
	OK(store_intent_put(s, 50, "create", "vnic1", (struct mac){0}, "", &e));
	OK(store_intents_clear(s, &e));
	ck_assert_uint_eq(add("vnic1", 0), 51);
}
END_TEST

START_TEST(rollback)
{
	OK(store_begin(s, &e));
	ck_assert_int_lt(store_begin(s, &e), 0);
	add("vnic1", 0);
	store_rollback(s);
	store_rollback(s);
	ck_assert_int_eq(links().count, 0);
	OK(store_begin(s, &e));
	add("vnic2", 0);
	OK(store_commit(s, &e));
	reopen();
	ck_assert_int_eq(links().count, 1);
}
END_TEST

START_TEST(delete_cascades)
{
	struct counter c[CTR_COUNT] = {[CTR_ODROPS] = {.base = UINT64_MAX, .last = 3}}, got[CTR_COUNT];
	uint32_t stub = add("stub0", 0), n = add("vnic1", stub);

	OK(store_prop_put(s, n, "maxbw", "100M", "", &e));
	OK(store_counters_put(s, n, c, &e));
	OK(store_counters_get(s, n, got, &e));
	ck_assert(!memcmp(c, got, sizeof(c)));
	/* A stub that VNICs are on stays. */
	ck_assert_int_eq(store_link_del(s, stub, &e), -EINVAL);
	OK(store_link_del(s, n, &e));
	ck_assert_int_eq(props(n).count, 0);
	OK(store_counters_get(s, n, got, &e));
	ck_assert(got[CTR_ODROPS].base == 0 && got[CTR_ODROPS].last == 0);
	OK(store_link_del(s, stub, &e));
	ck_assert_int_eq(store_prop_put(s, n, "maxbw", "1M", "", &e), -EINVAL);
	ck_assert_int_eq(store_counters_put(s, n, c, &e), -EINVAL);
	OK(store_begin(s, &e));
	OK(store_commit(s, &e));
}
END_TEST

static uint32_t ident(const char *bus, uint8_t mac, const char *name)
{
	struct ident id = {.perm_mac = {.b = {mac}}};
	uint32_t row = 0;

	snprintf(id.bus, sizeof(id.bus), "%s", bus);
	snprintf(id.name, sizeof(id.name), "%s", name);
	OK(store_ident_put(s, &id, &row, &e));
	return row;
}

START_TEST(idents)
{
	uint32_t a = ident("pci1", 2, "eth0"), b = ident("", 4, "eth1"), c = ident("", 0, "veth0");
	struct ident id;

	ck_assert(a != b && b != c && a != c);
	/* The bus address wins over everything, and what is seen is remembered. */
	ck_assert_uint_eq(ident("pci1", 6, "lan0"), a);
	OK(store_ident_get(s, a, &id, &e));
	ck_assert(id.perm_mac.b[0] == 6 && !strcmp(id.name, "lan0"));
	/* Then the permanent address, wherever the card is now; what is not known stays. */
	ck_assert_uint_eq(ident("pci9", 4, "eth7"), b);
	ck_assert_uint_eq(ident("", 4, "eth7"), b);
	OK(store_ident_get(s, b, &id, &e));
	ck_assert_str_eq(id.bus, "pci9");
	/* A name alone finds only what has nothing better. */
	ck_assert_uint_eq(ident("", 0, "veth0"), c);
	ck_assert_uint_ne(ident("", 0, "eth7"), b);
	ck_assert_uint_ne(ident("pci5", 0, "veth0"), c);
}
END_TEST

START_TEST(property_lifetimes)
{
	char boot[64] = "";
	uint32_t n = add("vnic1", 0);
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	ck_assert_ptr_nonnull(fgets(boot, sizeof(boot), f));
	fclose(f);
	boot[strcspn(boot, "\n")] = '\0';
	OK(store_prop_put(s, n, "mtu", "1400", "", &e));
	OK(store_prop_put(s, n, "maxbw", "1M", "", &e));
	OK(store_prop_put(s, n, "maxbw", "2M", boot, &e));
	OK(store_prop_put(s, n, "zone", "z", "00000000-0000-0000-0000-000000000000", &e));
	ck_assert_str_eq(props(n).text, "maxbw=1M maxbw=2M! mtu=1400 zone=z! ");
	reopen();
	ck_assert_str_eq(props(n).text, "maxbw=1M maxbw=2M! mtu=1400 ");
	OK(store_prop_put(s, n, "maxbw", "3M", "", &e));
	ck_assert_str_eq(props(n).text, "maxbw=3M mtu=1400 ");
	OK(store_prop_del(s, n, "maxbw", &e));
	ck_assert_str_eq(props(n).text, "mtu=1400 ");
}
END_TEST

static int see_intent(uint32_t n, const char *kind, const char *name, struct mac mac, const char *zone,
		      void *arg)
{
	struct seen *seen = arg;

	seen->count++;
	snprintf(seen->text, sizeof(seen->text), "%u %s %s %d %s", n, kind, name, mac.b[0], zone);
	return seen->count == 2 ? 42 : 0;
}

START_TEST(intents)
{
	struct seen seen = {0};

	OK(store_intent_put(s, 1, "create", "vnic1", (struct mac){.b = {2}}, "z1", &e));
	reopen();
	OK(store_intents(s, see_intent, &seen, &e));
	ck_assert_str_eq(seen.text, "1 create vnic1 2 z1");
	OK(store_intent_put(s, 1, "delete", "vnic1", (struct mac){.b = {2}}, "", &e));
	OK(store_intent_put(s, 2, "move", "vnic2", (struct mac){.b = {2}}, "", &e));
	/* What a callback returns ends the walk and comes back. */
	seen.count = 0;
	ck_assert_int_eq(store_intents(s, see_intent, &seen, &e), 42);
	OK(store_intents_clear(s, &e));
	seen = (struct seen){0};
	OK(store_intents(s, see_intent, &seen, &e));
	ck_assert_int_eq(seen.count, 0);
}
END_TEST

static int see_place(uint32_t n, int ifindex, const char *zone, void *arg)
{
	struct seen *seen = arg;

	seen->count++;
	snprintf(seen->text, sizeof(seen->text), "%u %d %s", n, ifindex, zone);
	return 0;
}

START_TEST(places)
{
	struct seen seen = {0};
	uint32_t n = add("vnic1", 0);

	OK(store_place_put(s, n, "this", 12, "z1", &e));
	OK(store_place_put(s, n, "this", 13, "", &e));
	reopen();
	OK(store_places(s, "this", see_place, &seen, &e));
	ck_assert_int_eq(seen.count, 1);
	ck_assert_str_eq(seen.text, "1 13 ");
	/* Numbers mean nothing in another world, and nothing without their link. */
	OK(store_places(s, "other", see_place, &seen, &e));
	OK(store_link_del(s, n, &e));
	OK(store_places(s, "this", see_place, &seen, &e));
	ck_assert_int_eq(seen.count, 1);
	ck_assert_int_lt(store_place_put(s, n, "this", 12, "", NULL), 0);
}
END_TEST

/* A child opens the store, works and kills itself; how: with or without a commit before. */
static void killed_child(bool commit)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (store_open(dir, &s, NULL) < 0 || store_begin(s, NULL) < 0)
			_exit(1);
		add("vnic1", 0);
		if (commit && store_commit(s, NULL) < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

START_TEST(killed_in_a_transaction)
{
	s = store_close(s);
	killed_child(false);
	OK(store_open(dir, &s, &e));
	ck_assert_int_eq(links().count, 0);
	s = store_close(s);
	killed_child(true);
	OK(store_open(dir, &s, &e));
	ck_assert_int_eq(links().count, 1);
}
END_TEST

START_TEST(locked)
{
	struct store *second = NULL;
	char want[256];

	snprintf(want, sizeof(want), "state directory %s is in use by vnicd, pid %d", dir, getpid());
	ck_assert_int_eq(store_open(dir, &second, &e), -EBUSY);
	ck_assert_str_eq(e.text, want);
	ck_assert(e.mend && !second);
}
END_TEST

START_TEST(link_lifetimes)
{
	struct store_link stub = {.class = CLASS_ETHERSTUB, .mac_type = MAC_RANDOM, .temp = true};
	struct store_link on = {.class = CLASS_VNIC, .mac_type = MAC_RANDOM, .temp = true};

	snprintf(stub.name, sizeof(stub.name), "stub0");
	snprintf(on.name, sizeof(on.name), "vnic1");
	OK(store_link_put(s, &stub, &e));
	on.over = stub.n;
	OK(store_link_put(s, &on, &e));
	OK(store_prop_put(s, on.n, "mtu", "1400", store_boot(s), &e));
	reopen();
	ck_assert_int_eq(links().count, 2);
	ck_assert(links().last.temp);
	s = store_close(s);
	edit("UPDATE link SET boot = '00000000-0000-0000-0000-000000000000'");
	OK(store_open(dir, &s, &e));
	ck_assert_int_eq(links().count, 0);
	ck_assert_str_eq(props(on.n).text, "");
	/* A number is in the kernel's objects, and not given twice even then. */
	ck_assert_uint_gt(add("vnic1", 0), on.n);
}
END_TEST

/* The tables as version 1 had them, with a link, a property and a counter in them. */
static const char version_1[] =
	"PRAGMA application_id = 1986947427; PRAGMA user_version = 1;"
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE ident (id INTEGER PRIMARY KEY AUTOINCREMENT, bus TEXT NOT NULL,"
	"  perm_mac BLOB NOT NULL CHECK (length(perm_mac) = 6), name TEXT NOT NULL) STRICT;"
	"CREATE TABLE link (n INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  class TEXT NOT NULL CHECK (class IN ('vnic', 'etherstub')), name TEXT NOT NULL UNIQUE,"
	"  parent INTEGER REFERENCES ident (id), over INTEGER REFERENCES link (n),"
	"  mac_type TEXT NOT NULL CHECK (mac_type IN ('auto', 'random', 'fixed')),"
	"  mac BLOB NOT NULL CHECK (length(mac) = 6),"
	"  down INTEGER NOT NULL CHECK (down IN (0, 1))) STRICT;"
	"CREATE INDEX link_over ON link (over);"
	"CREATE TABLE prop (n INTEGER NOT NULL REFERENCES link (n) ON DELETE CASCADE, key TEXT NOT NULL,"
	"  boot TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (n, key, boot)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE counter (n INTEGER NOT NULL REFERENCES link (n) ON DELETE CASCADE, id TEXT NOT NULL,"
	"  base INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (n, id)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE intent (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, kind TEXT NOT NULL,"
	"  name TEXT NOT NULL, mac BLOB NOT NULL CHECK (length(mac) = 6), zone TEXT NOT NULL) STRICT;"
	"INSERT INTO meta VALUES ('uuid', '11111111-2222-3333-4444-555555555555');"
	"INSERT INTO link VALUES (41, 'vnic', 'vnic1', NULL, NULL, 'fixed', x'020820010203', 1);"
	"INSERT INTO prop VALUES (41, 'mtu', '', '1400');"
	"INSERT INTO counter VALUES (41, 'ipackets', 7, 5)";

static struct store_flow flow(uint32_t n, uint32_t slot, const char *name, const char *text, bool temp)
{
	struct store_flow f = {.n = n, .slot = slot, .text = text, .temp = temp};

	snprintf(f.name, sizeof(f.name), "%s", name);
	return f;
}

static int see_flow(const struct store_flow *f, void *arg)
{
	struct seen *seen = arg;
	size_t len = strlen(seen->text);

	snprintf(seen->text + len, sizeof(seen->text) - len, "%s:%u:%u:%s%s ", f->name, f->n, f->slot,
		 f->text, f->temp ? "!" : "");
	return 0;
}

static struct seen flows(void)
{
	struct seen seen = {0};

	OK(store_flows(s, see_flow, &seen, &e));
	return seen;
}

static struct seen flow_props(uint32_t id)
{
	struct seen seen = {0};

	OK(store_flow_props(s, id, see_prop, &seen, &e));
	return seen;
}

START_TEST(flows_survive_reopen)
{
	struct counter c[FLOW_CTR_COUNT] = {[FLOW_CTR_IPACKETS] = {.base = 7, .last = 5},
					    [FLOW_CTR_CLASS_ODROPS] = {.base = UINT64_MAX, .last = 1}};
	struct counter read[FLOW_CTR_COUNT];
	struct store_flow f = flow(add("vnic1", 0), 3, "web", "transport=tcp,local_port=80", false);
	struct store_flow other = flow(f.n, 1, "dns", "transport=udp", false);

	OK(store_flow_put(s, &f, &e));
	OK(store_flow_put(s, &other, &e));
	ck_assert_uint_gt(other.id, f.id);
	OK(store_flow_prop_put(s, f.id, "maxbw", "10M", "", &e));
	OK(store_flow_counters_put(s, f.id, c, &e));
	f.slot = 9;
	OK(store_flow_put(s, &f, &e));
	reopen();
	ck_assert_str_eq(flows().text, "web:1:9:transport=tcp,local_port=80 dns:1:1:transport=udp ");
	ck_assert_str_eq(flow_props(f.id).text, "maxbw=10M ");
	ck_assert_str_eq(flow_props(other.id).text, "");
	OK(store_flow_counters_get(s, f.id, read, &e));
	ck_assert_int_eq(memcmp(read, c, sizeof(c)), 0);
}
END_TEST

/* A name is one flow's on the whole machine, a slot on its link; a number is nobody's again. */
START_TEST(flows_are_unique)
{
	uint32_t one = add("vnic1", 0), two = add("vnic2", 0), id;
	struct store_flow f = flow(one, 1, "web", "transport=tcp", false);
	struct store_flow name = flow(two, 1, "web", "transport=udp", false);
	struct store_flow slot = flow(one, 1, "dns", "transport=udp", false);

	OK(store_flow_put(s, &f, &e));
	ck_assert_int_eq(store_flow_put(s, &name, &e), -EEXIST);
	ck_assert_str_eq(e.object, "web");
	ck_assert_int_eq(store_flow_put(s, &slot, &e), -EEXIST);
	ck_assert_str_eq(e.object, "dns");
	slot.n = two;
	OK(store_flow_put(s, &slot, &e));
	id = slot.id;
	OK(store_flow_del(s, id, &e));
	OK(store_flow_del(s, f.id, &e));
	OK(store_flow_put(s, &name, &e));
	ck_assert_uint_gt(name.id, id);
	ck_assert_str_eq(flows().text, "web:2:1:transport=udp ");
}
END_TEST

START_TEST(flow_lifetimes)
{
	uint32_t n = add("vnic1", 0);
	struct store_flow kept = flow(n, 1, "web", "transport=tcp", false);
	struct store_flow temp = flow(n, 2, "dns", "transport=udp", true);

	OK(store_flow_put(s, &kept, &e));
	OK(store_flow_put(s, &temp, &e));
	OK(store_flow_prop_put(s, kept.id, "maxbw", "1M", "", &e));
	OK(store_flow_prop_put(s, kept.id, "maxbw", "2M", store_boot(s), &e));
	OK(store_flow_prop_put(s, kept.id, "rank", "3", store_boot(s), &e));
	reopen();
	ck_assert_str_eq(flows().text, "web:1:1:transport=tcp dns:1:2:transport=udp! ");
	ck_assert_str_eq(flow_props(kept.id).text, "maxbw=1M maxbw=2M! rank=3! ");
	/* A value for good ends the temporary one. */
	OK(store_flow_prop_put(s, kept.id, "rank", "4", "", &e));
	ck_assert_str_eq(flow_props(kept.id).text, "maxbw=1M maxbw=2M! rank=4 ");
	s = store_close(s);
	edit("UPDATE flow SET boot = 'before' WHERE boot <> ''; UPDATE flowprop SET boot = 'before' WHERE "
	     "boot <> ''");
	OK(store_open(dir, &s, &e));
	ck_assert_str_eq(flows().text, "web:1:1:transport=tcp ");
	ck_assert_str_eq(flow_props(kept.id).text, "maxbw=1M rank=4 ");
	OK(store_link_del(s, n, &e));
	ck_assert_str_eq(flows().text, "");
	ck_assert_str_eq(flow_props(kept.id).text, "");
}
END_TEST

START_TEST(version_1_is_taken_over)
{
	char path[128];

	s = store_close(s);
	snprintf(path, sizeof(path), "%s/state.db", dir);
	ck_assert_int_eq(unlink(path), 0);
	edit(version_1);
	OK(store_open(dir, &s, &e));
	ck_assert_str_eq(store_uuid(s), "11111111-2222-3333-4444-555555555555");
	ck_assert_int_eq(links().count, 1);
	ck_assert_str_eq(links().last.name, "vnic1");
	ck_assert(links().last.down && !links().last.temp);
	ck_assert_str_eq(props(41).text, "mtu=1400 ");
	ck_assert_uint_eq(add("vnic2", 0), 42);
	reopen();
	ck_assert_int_eq(links().count, 2);
}
END_TEST

/* What a file is made into before it is opened, and how that is refused. */
static const struct {
	const char *sql;
	int code;
	const char *text;
} strange[] = {
	{"PRAGMA user_version = 99", -EPROTO,
	 "schema version 99, this vnicd knows versions up to 7: install the newer vnicd again"},
	{"PRAGMA application_id = 7", -EINVAL,
	 "not a file of vnicd: move it away, or give another --state-dir"},
	{"DROP TABLE prop", -EIO, "no such table: prop"},
};

START_TEST(strange_file)
{
	s = store_close(s);
	edit(strange[_i].sql);
	ck_assert_int_eq(store_open(dir, &s, &e), strange[_i].code);
	ck_assert_str_eq(e.text, strange[_i].text);
	ck_assert_ptr_null(strstr(e.object, "state.db") ? NULL : dir);
}
END_TEST

START_TEST(damaged_file)
{
	char path[128], junk[4096];
	int fd;

	add("vnic1", 0);
	s = store_close(s);
	snprintf(path, sizeof(path), "%s/state.db", dir);
	memset(junk, 0xa5, sizeof(junk));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	/* One page of tables, then the header. */
	for (int at = 4096; at >= 0; at -= 4096) {
		ck_assert_int_eq(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
		ck_assert_int_eq(store_open(dir, &s, &e), -EUCLEAN);
		ck_assert_int_eq(strncmp(e.text, "damaged", 7), 0);
		ck_assert_ptr_nonnull(strstr(e.text, "move state.db* away"));
	}
	close(fd);
}
END_TEST

START_TEST(no_directory)
{
	struct store *other = NULL;

	ck_assert_int_eq(store_open("/proc/nowhere", &other, &e), -ENOENT);
	ck_assert_str_eq(e.object, "/proc/nowhere");
}
END_TEST

/* Runs in a forked test process (check's default), so the mount namespace goes with it. */
START_TEST(full_disk)
{
	char where[80], path[128], junk[4096] = "";
	struct store *small;
	int fd;

	snprintf(where, sizeof(where), "%s/small", dir);
	ck_assert_int_eq(mkdir(where, 0700), 0);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", where, "tmpfs", 0, "size=512k") < 0) {
		rmdir(where);
		return;
	}
	OK(store_open(where, &small, &e));
	snprintf(path, sizeof(path), "%s/junk", where);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, junk, sizeof(junk)) > 0)
		;
	OK(store_begin(small, &e));
	for (int i = 0; i < 100; i++) {
		struct store_link l = {.class = CLASS_VNIC};

		snprintf(l.name, sizeof(l.name), "vnic%d", i);
		OK(store_link_put(small, &l, &e));
	}
	ck_assert_int_eq(store_commit(small, &e), -ENOSPC);
	ck_assert_int_eq(strncmp(e.text, "no space left", 13), 0);
	/* With room again everything goes on. */
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	close(fd);
	OK(store_begin(small, &e));
	OK(store_world_put(small, "w", &e));
	OK(store_commit(small, &e));
	store_close(small);
	umount(where);
	rmdir(where);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("store");
	TCase *t = tcase_create("store");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, survives_reopen);
	tcase_add_test(t, vlans);
	tcase_add_test(t, update_keeps_rows);
	tcase_add_test(t, names_are_unique);
	tcase_add_test(t, numbers_are_never_reused);
	tcase_add_test(t, rollback);
	tcase_add_test(t, delete_cascades);
	tcase_add_test(t, idents);
	tcase_add_test(t, property_lifetimes);
	tcase_add_test(t, link_lifetimes);
	tcase_add_test(t, version_1_is_taken_over);
	tcase_add_test(t, flows_survive_reopen);
	tcase_add_test(t, flows_are_unique);
	tcase_add_test(t, flow_lifetimes);
	tcase_add_test(t, intents);
	tcase_add_test(t, places);
	tcase_add_test(t, killed_in_a_transaction);
	tcase_add_test(t, locked);
	tcase_add_loop_test(t, strange_file, 0, (int)(sizeof(strange) / sizeof(strange[0])));
	tcase_add_test(t, damaged_file);
	tcase_add_test(t, no_directory);
	tcase_add_test(t, full_disk);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
