/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counters as the kernel gives them, before any base is added. Plain values. */
#pragma once

#include <stdint.h>

/* Counters of one link as dladm names them; drops of ours are added by the sampler. */
struct link_stats {
	uint64_t ipackets, rbytes, ierrors, idrops;
	uint64_t opackets, obytes, oerrors, odrops;
};

/* What our own objects dropped for one node, since each was made (they restart at 0 when re-made). */
struct drop_stats {
	uint64_t tx_leaf;  /* leaf of the TX tree */
	uint64_t rx_leaf;  /* leaf of the tree on the ifb */
	uint64_t rx_group; /* group frames policed, and all frames of a blocked link */
	uint64_t tx_blocked;
};

/* Counters of one flow, of programs and of classes apart: each set of objects has a life of its own. */
struct flow_counts {
	uint64_t packets[2], bytes[2], drops[2]; /* by enum flow_dir */
};
struct flow_stats {
	struct flow_counts programs, classes;
};

/* What of a link's packets could not be looked at as it should be, by enum flow_dir. */
struct flow_odd {
	uint64_t fragments[2]; /* later ones that found no first one */
	uint64_t unparsed[2];  /* dropped, as their transport header was out of reach */
};
