/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes lists apart and refuses malformed ones; never judges a name or a value. */
#include "lib/cli/props.h"

#include <errno.h>
#include <string.h>

const struct props_kind props_p = {.option = "-p ", .word = "PROP", .noun = "property"};

static int append_prop(const struct props_kind *k, json_t *props, const char *item, const char *eq,
		       size_t len, struct err *e)
{
	json_t *prop, *have;
	size_t i;

	prop = json_pack("{s:s%, s:s%}", "name", item, (size_t)(eq - item), "value", eq + 1,
			 (size_t)(len - (size_t)(eq - item) - 1));
	if (!prop)
		return err_nomem(e);
	json_array_foreach (props, i, have) {
		const char *name = json_string_value(json_object_get(prop, "name"));

		if (!json_equal(json_object_get(have, "name"), json_object_get(prop, "name")))
			continue;
		err_user(e, -EINVAL, name, "%s given twice", k->noun);
		json_decref(prop);
		return -EINVAL;
	}
	return json_array_append_new(props, prop) ? err_nomem(e) : 0;
}

/* Where the value that starts at text ends: at the comma before the next item with '=', or at the end. */
static size_t value_end(const char *text)
{
	size_t len = strcspn(text, ",");

	while (text[len]) {
		size_t item = strcspn(text + len + 1, ",=");

		if (text[len + 1 + item] == '=')
			return len;
		len += 1 + item;
	}
	return len;
}

static bool has_empty_item(const char *text)
{
	return !*text || *text == ',' || text[strlen(text) - 1] == ',' || strstr(text, ",,");
}

static int no_value(const struct props_kind *k, const char *text, size_t len, size_t name, struct err *e)
{
	return err_user(e, -EINVAL, NULL, "'%.*s' has no value: write %s%.*s=VALUE", (int)len, text,
			k->option, (int)name, text);
}

static int parse_one(const struct props_kind *k, const char *text, json_t *props, struct err *e)
{
	if (has_empty_item(text))
		return err_user(e, -EINVAL, NULL, "empty item in %s'%s': write %s%s=VALUE[,%s=VALUE]...",
				k->option, text, k->option, k->word, k->word);
	while (*text) {
		size_t name = strcspn(text, ",="), len = value_end(text);

		if (text[name] != '=')
			return no_value(k, text, name, name, e);
		if (!name)
			return err_user(e, -EINVAL, NULL, "'%.*s' has no %s name: write %s%s=VALUE", (int)len,
					text, k->noun, k->option, k->word);
		if (name + 1 == len)
			return no_value(k, text, len, name, e);
		if (append_prop(k, props, text, text + name, len, e))
			return e ? e->code : -EINVAL;
		text += len + (text[len] == ',');
	}
	return 0;
}

int props_parse(const struct props_kind *kind, const json_t *values, json_t **ret, struct err *e)
{
	json_t *props = values ? json_array() : NULL, *value;
	size_t i;
	int rc = values && !props ? err_nomem(e) : 0;

	json_array_foreach (values, i, value) {
		rc = rc ? rc : parse_one(kind, json_string_value(value), props, e);
	}
	if (rc) {
		json_decref(props);
		return rc;
	}
	*ret = props;
	return 0;
}

static int names_one(const char *text, json_t *names, struct err *e)
{
	if (has_empty_item(text))
		return err_user(e, -EINVAL, NULL, "empty item in -p '%s': write -p PROP[,PROP]...", text);
	if (strchr(text, '='))
		return err_user(e, -EINVAL, NULL, "'%s': only names here: write -p PROP[,PROP]...", text);
	while (*text) {
		size_t len = strcspn(text, ",");

		if (json_array_append_new(names, json_stringn(text, len)))
			return err_nomem(e);
		text += len + (text[len] == ',');
	}
	return 0;
}

int props_names(const json_t *values, json_t **ret, struct err *e)
{
	json_t *names = values ? json_array() : NULL, *value;
	size_t i;
	int rc = values && !names ? err_nomem(e) : 0;

	json_array_foreach (values, i, value) {
		rc = rc ? rc : names_one(json_string_value(value), names, e);
	}
	if (rc) {
		json_decref(names);
		return rc;
	}
	*ret = names;
	return 0;
}
