/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The method table of org.vnicd: who may, is it valid, which function. One transaction a request. */
#pragma once

#include <jansson.h>

struct daemon;
struct call;

/* The first parameter that a method does not have, or has with another type; NULL when all are right. */
const char *request_bad_param(const char *method, json_t *params);
/* Answers call, now or (a stream) over time. */
void request_handle(struct daemon *d, struct call *call);
