/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The method table and its generic checks; the work is in change.c, show.c and sampler.c. */
#include "vnicd/request.h"

#include "vnicd/change.h"
#include "vnicd/dryrun.h"
#include "vnicd/flowchange.h"
#include "vnicd/flowshow.h"
#include "vnicd/sampler.h"
#include "vnicd/session.h"
#include "vnicd/show.h"
#include "vnicd/upkeep.h"

#include <string.h>

#define PARAMS_MAX 9

static const struct method {
	const char *name;
	bool changes;
	void (*fn)(struct daemon *d, struct call *c);
	struct {
		const char *name;
		json_type type;
	} params[PARAMS_MAX];
} methods[] = {
	{"CreateVnic",
	 true,
	 change_create_vnic,
	 {{"link", JSON_STRING},
	  {"name", JSON_STRING},
	  {"mac", JSON_STRING},
	  {"prefix", JSON_STRING},
	  {"vid", JSON_INTEGER},
	  {"down", JSON_TRUE},
	  {"temporary", JSON_TRUE},
	  {"props", JSON_ARRAY}}},
	{"DeleteVnic", true, change_delete_vnic, {{"names", JSON_ARRAY}}},
	{"CreateEtherstub",
	 true,
	 change_create_etherstub,
	 {{"name", JSON_STRING}, {"temporary", JSON_TRUE}, {"props", JSON_ARRAY}}},
	{"DeleteEtherstub", true, change_delete_etherstub, {{"names", JSON_ARRAY}}},
	{"RenameLink", true, change_rename_link, {{"link", JSON_STRING}, {"name", JSON_STRING}}},
	{"SetLinkprop",
	 true,
	 change_set_linkprop,
	 {{"link", JSON_STRING}, {"temporary", JSON_TRUE}, {"props", JSON_ARRAY}}},
	{"ResetLinkprop",
	 true,
	 change_reset_linkprop,
	 {{"link", JSON_STRING}, {"temporary", JSON_TRUE}, {"props", JSON_ARRAY}}},
	{"CreateFlow",
	 true,
	 flowchange_create,
	 {{"link", JSON_STRING},
	  {"name", JSON_STRING},
	  {"attributes", JSON_ARRAY},
	  {"temporary", JSON_TRUE},
	  {"props", JSON_ARRAY}}},
	{"DeleteFlow", true, flowchange_delete, {{"names", JSON_ARRAY}, {"link", JSON_STRING}}},
	{"SetFlowprop",
	 true,
	 flowchange_set,
	 {{"flow", JSON_STRING}, {"link", JSON_STRING}, {"temporary", JSON_TRUE}, {"props", JSON_ARRAY}}},
	{"ResetFlowprop",
	 true,
	 flowchange_reset,
	 {{"flow", JSON_STRING}, {"link", JSON_STRING}, {"temporary", JSON_TRUE}, {"props", JSON_ARRAY}}},
	{"Reapply", true, upkeep_reapply, {{"link", JSON_STRING}}},
	{"Reset", true, upkeep_reset, {{NULL, JSON_NULL}}},
	{"Batch", true, change_batch, {{"commands", JSON_ARRAY}}},
	{"ShowLink",
	 false,
	 show_link,
	 {{"name", JSON_STRING}, {"all", JSON_TRUE}, {"persistent", JSON_TRUE}}},
	{"ShowPhys", false, show_phys, {{"name", JSON_STRING}}},
	{"ShowVnic",
	 false,
	 show_vnic,
	 {{"name", JSON_STRING}, {"link", JSON_STRING}, {"persistent", JSON_TRUE}}},
	{"ShowEtherstub", false, show_etherstub, {{"name", JSON_STRING}, {"persistent", JSON_TRUE}}},
	{"ShowLinkprop",
	 false,
	 show_linkprop,
	 {{"link", JSON_STRING}, {"props", JSON_ARRAY}, {"persistent", JSON_TRUE}}},
	{"ShowFlow",
	 false,
	 flowshow_flow,
	 {{"name", JSON_STRING}, {"link", JSON_STRING}, {"persistent", JSON_TRUE}}},
	{"ShowFlowprop",
	 false,
	 flowshow_prop,
	 {{"flow", JSON_STRING}, {"link", JSON_STRING}, {"props", JSON_ARRAY}, {"persistent", JSON_TRUE}}},
	{"ShowFlowStats",
	 false,
	 flowshow_stats,
	 {{"names", JSON_ARRAY}, {"link", JSON_STRING}, {"interval", JSON_INTEGER}, {"count", JSON_INTEGER}}},
	{"MatchFlow", false, flowshow_match, {{"link", JSON_STRING}, {"attributes", JSON_ARRAY}}},
	{"ShowStats",
	 false,
	 sampler_show,
	 {{"names", JSON_ARRAY}, {"interval", JSON_INTEGER}, {"count", JSON_INTEGER}}},
};

static bool type_fits(const json_t *v, json_type type)
{
	return json_is_null(v) || json_typeof(v) == type || (type == JSON_TRUE && json_is_false(v));
}

#define DRYRUN "dryrun" /* of every method that changes something, but not of the lines of a batch */

static bool is_dryrun(const struct method *m, const char *key, const json_t *value)
{
	return m->changes && !strcmp(key, DRYRUN) && type_fits(value, JSON_TRUE);
}

/* The first parameter the method does not have, or has with another type; NULL when all are right. */
static const char *bad_param(const struct method *m, json_t *params, bool line)
{
	const char *key;
	json_t *value;

	json_object_foreach (params, key, value) {
		bool known = !line && is_dryrun(m, key, value);

		for (int i = 0; i < PARAMS_MAX && m->params[i].name && !known; i++)
			known = !strcmp(m->params[i].name, key) && type_fits(value, m->params[i].type);
		if (!known)
			return key;
	}
	return NULL;
}

const char *request_bad_param(const char *method, json_t *params)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (!strcmp(methods[i].name, method))
			return bad_param(&methods[i], params, true);
	return "method";
}

void request_handle(struct daemon *d, struct call *c)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		const struct method *m = &methods[i];
		const char *bad;

		if (strcmp(m->name, call_method(c)) != 0)
			continue;
		bad = bad_param(m, call_params(c), false);
		if (bad)
			call_invalid(c, bad);
		else if (m->changes && !call_may_change(c))
			call_denied(c);
		else if (json_is_true(json_object_get(call_params(c), DRYRUN)))
			dryrun_call(d, c, m->fn);
		else
			m->fn(d, c);
		return;
	}
	call_not_found(c);
}
