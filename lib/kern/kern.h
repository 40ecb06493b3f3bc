/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel as one seam: observe and apply. Two implementations: the real one (real.c, over lib/nl and
 * lib/bpf) and an in-memory one for tests (fake.c). Neither decides anything: what to do is the plan's.
 */
#pragma once

#include "lib/base/err.h"
#include "lib/model/link.h"
#include "lib/model/op.h"
#include "lib/model/say.h"
#include "lib/model/stats.h"

#include <stdint.h>

struct kernel;
struct kernel_ops {
	/*
	 * Looks for node key->n where key says (port.zone and name, else by alias in key->port.zone) and
	 * fills *ret with all that is there. Nothing there is no error: ret->link is false. A zone that is
	 * gone: -ENOENT.
	 */
	int (*observe)(struct kernel *k, const struct node *key, struct node *ret, struct err *e);
	/* Is our program on this parent's ingress? */
	int (*observe_hook)(struct kernel *k, int parent_ifindex, bool *ret, struct err *e);
	/* Carries out one operation, completely or not at all; may fill op->to.port.ifindex of a new link. */
	int (*apply)(struct kernel *k, struct op *op, struct err *e);
	/* One full dump of the own namespace's links; cb returns non-zero to stop. */
	int (*links)(struct kernel *k, int (*cb)(const struct sys_link *l, void *arg), void *arg,
		     struct err *e);
	/* One link by ifindex, or by name or altname when ifindex is 0, in a zone. -ENODEV when there is
	 * none. */
	int (*link)(struct kernel *k, const char *zone, int ifindex, const char *name, struct sys_link *ret,
		    struct err *e);
	/* Speed in bits/s and duplex (0 half, 1 full, 2 unknown) through ethtool netlink; speed 0 = none. */
	int (*speed)(struct kernel *k, int ifindex, uint64_t *bps, int *duplex);
	int (*stats)(struct kernel *k, const char *zone, int ifindex, struct link_stats *ret, struct err *e);
	/* Counters of every link of the own namespace in one dump. */
	int (*stats_all)(struct kernel *k, int (*cb)(int ifindex, const struct link_stats *s, void *arg),
			 void *arg, struct err *e);
	int (*drops)(struct kernel *k, const struct node *n, struct drop_stats *ret, struct err *e);
	/*
	 * Makes of the flows of n (whose programs and trees are there) another set, have -> want, or leaves
	 * them as they are; both hold what is to change alone.
	 */
	int (*flow_change)(struct kernel *k, const struct node *n, const struct flow_set *have,
			   const struct flow_set *want, struct err *e);
	/*
	 * What the flow programs and classes of n, whose programs are there, have counted since each was
	 * made; by slot: slots[i] -> ret[i]. Slot 0 is what no flow took.
	 */
	int (*flow_counts)(struct kernel *k, const struct node *n, const uint32_t *slots, size_t count,
			   struct flow_stats *ret, struct err *e);
	int (*flow_odd)(struct kernel *k, const struct node *n, struct flow_odd *ret, struct err *e);
	/* True when the link has an address (either family) inside one of the parent's subnets. */
	int (*shares_subnet)(struct kernel *k, int ifindex, int parent_ifindex, bool *ret, struct err *e);
	/*
	 * Everything of ours in the own namespace and the given zones: links with our alias, pins by number.
	 * For the sweep at start. n 0: a link with our group but no number. cb returns non-zero to stop.
	 */
	int (*marked)(struct kernel *k, const char *const *zones,
		      int (*cb)(const struct port *port, uint32_t n, enum link_class class, void *arg),
		      void *arg, struct err *e);
	/* Every entry of the steering map, of whatever VNIC. */
	int (*steers)(struct kernel *k, int (*cb)(int parent_ifindex, struct mac mac, void *arg), void *arg,
		      struct err *e);
	int (*pins)(struct kernel *k, int (*cb)(uint32_t n, int parent_ifindex, void *arg), void *arg,
		    struct err *e);
	/* The number of every VNIC that has a rule or a route of ours; a number may come more than once. */
	int (*isolated)(struct kernel *k, int (*cb)(uint32_t n, void *arg), void *arg, struct err *e);
	/* How a link of the own namespace answers and asks by ARP; ifindex 0: a new one. */
	int (*arp)(struct kernel *k, int ifindex, struct arp *ret, struct err *e);
	/*
	 * The rules and routes that isolation of n would need now, were it up or down, and those that are
	 * there. Refused as OP_ISO_SET would be.
	 */
	int (*iso)(struct kernel *k, const struct node *n, bool up, struct iso_set *want,
		   struct iso_set *have, struct err *e);
	/* What the kernel has; found out once. */
	int (*means)(struct kernel *k, struct means *ret, struct err *e);
	/*
	 * on: many questions about the own namespace follow: it is read once, and answers come from there
	 * until the next modifying act, or until off. NULL where asking costs nothing.
	 */
	void (*survey)(struct kernel *k, bool on);
	/* Before the end, when nothing of ours is left: what would only hold it together goes, too. NULL
	 * where there is nothing of that kind. */
	void (*tidy)(struct kernel *k);
	void (*free)(struct kernel *k);
};

struct kernel {
	const struct kernel_ops *ops;
	unsigned long acts; /* modifying acts so far: netlink NEW/DEL/SET, sysfs/procfs writes, bpf updates */
	/* Not NULL: a dry run. Whoever carries out operations tells them here instead. */
	int (*tell)(const struct op *op, void *arg, struct err *e);
	void *tell_arg;
};

struct kern_config {
	const char *bpf_dir; /* on bpffs */
	const char *uuid;    /* of the store; part of pins' path and of aliases */
};

/* The real kernel of the calling thread's network namespace. The caller frees it with kern_free(). */
int kern_real_new(const struct kern_config *cfg, struct kernel **ret, struct err *e);
/* An empty in-memory kernel. */
int kern_fake_new(struct kernel **ret);
struct kernel *kern_free(struct kernel *k);
/* A netlink socket's fd that is readable on link, address and tc notifications; kern_real_events() reads
 * them. */
int kern_real_event_fd(struct kernel *k);
/* What happened to one link, in the own namespace or in another that has a number in it. */
/* An address that a link got, and the link's MAC address to be told with it. */
struct kern_addr {
	int family; /* AF_INET, AF_INET6 */
	uint8_t bytes[16];
	struct mac mac;
};

struct kern_event {
	int nsid;    /* OWN_NS, or the other namespace's number */
	int ifindex; /* 0: the whole namespace nsid is gone; -N: rules or routes of the isolated VNIC N */
	bool gone;
	bool routing; /* its addresses, or the routes over it */
	bool queues;  /* its qdiscs or filters */
	const struct kern_addr
		*added;            /* the last address that it got and may use, without its mac; or NULL */
	const struct sys_link *l;  /* as it is now, or (gone) was last; NULL: addresses or qdiscs changed */
	int new_nsid, new_ifindex; /* gone because it was moved there; new_ifindex 0: deleted, or moved out of
				      sight */
};
#define OWN_NS (-1)

/*
 * Reads what is waiting; cb is called once for each link, with the last that happened to it. Returns 0, or
 * -ENOBUFS when the kernel dropped notifications and the caller must dump again.
 */
int kern_real_events(struct kernel *k, void (*cb)(const struct kern_event *ev, void *arg), void *arg);

/* The number of a zone in the own namespace, given it when it has none (an act): only then its events are
 * heard. */
int kern_real_nsid(struct kernel *k, const char *zone, int *ret, struct err *e);
/*
 * A name for the namespace with this number: its name under /run/netns, else the /proc/PID/ns/net of a
 * process in it. -ENOENT when neither can be found.
 */
int kern_real_zone(struct kernel *k, int nsid, char ret[ZONE_MAX], struct err *e);
/* The own namespace's link below l, which is in zone; 0 when that is in another. */
int kern_real_lower(struct kernel *k, const char *zone, const struct sys_link *l);
/* Every other namespace that has a name or a process, each once; cb returns non-zero to stop. */
int kern_real_zones(struct kernel *k, int (*cb)(const char *zone, void *arg), void *arg);

/* Tells the neighbours of a link in a zone (CAP_NET_RAW) that a is there: gratuitous ARP, or an unsolicited
 * neighbour advertisement. */
int kern_real_announce(struct kernel *k, const char *zone, int ifindex, const struct kern_addr *a,
		       struct err *e);

/* Tells of routes over links, too, from now on. */
void kern_real_hear_routes(struct kernel *k);

/* Test helpers of the fake. fail_at: the apply call (counted from 1) that fails with -EIO; 0 = none. */
void kern_fake_fail_at(struct kernel *k, unsigned call);
/* Adds a link that is not ours (a parent) to the fake. */
int kern_fake_add_link(struct kernel *k, const struct sys_link *l);
/* Others' doings in the fake. Its marks carry this uuid. */
void kern_fake_uuid(struct kernel *k, const char *uuid);
/* Node n, to be changed behind the daemon's back; NULL when there never was one. */
struct node *kern_fake_node(struct kernel *k, uint32_t n);
struct sys_link *kern_fake_link(struct kernel *k, const char *name); /* not ours; NULL: none */
int kern_fake_new_ifindex(struct kernel *k);
/* Node n's link goes, and what is over it; the same for a link that is not ours. */
void kern_fake_lose(struct kernel *k, uint32_t n);
void kern_fake_drop_link(struct kernel *k, const char *name);
/* A zone comes or goes, with the links in it. From the first call on, what was not told of is not there. */
void kern_fake_zone(struct kernel *k, const char *zone, bool there);
