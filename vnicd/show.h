/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answers of the show methods. Reads; changes nothing. */
#pragma once

struct call;
struct daemon;

void show_link(struct daemon *d, struct call *c);
void show_phys(struct daemon *d, struct call *c);
void show_vnic(struct daemon *d, struct call *c);
void show_etherstub(struct daemon *d, struct call *c);
void show_linkprop(struct daemon *d, struct call *c);
