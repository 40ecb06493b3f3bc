/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The method table of org.vnicd: who may, is it valid, which function. One transaction a request. */
#pragma once

struct daemon;
struct call;

/* Answers call, now or (a stream) over time. */
void request_handle(struct daemon *d, struct call *call);
