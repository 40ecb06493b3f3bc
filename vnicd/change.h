/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The methods that change something: each checks its request against the world and runs it as one
 * transaction. */
#pragma once

struct call;
struct daemon;

void change_create_vnic(struct daemon *d, struct call *c);
void change_delete_vnic(struct daemon *d, struct call *c);
void change_create_etherstub(struct daemon *d, struct call *c);
void change_delete_etherstub(struct daemon *d, struct call *c);
void change_set_linkprop(struct daemon *d, struct call *c);
void change_reset_linkprop(struct daemon *d, struct call *c);
void change_rename_link(struct daemon *d, struct call *c);
void change_batch(struct daemon *d, struct call *c);
/* One command as a batch: for what takes more than one link. */
void change_alone(struct daemon *d, struct call *c, const char *method);
