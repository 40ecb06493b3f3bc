/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface that every Varlink service has: who it is and what it understands. */
#pragma once

#define SERVICE "org.varlink.service"

struct call;

/* Answers a call of org.varlink.service. */
void service_handle(struct call *c);
