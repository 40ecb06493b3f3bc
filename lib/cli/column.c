/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chooses columns by name and prints rows by them; knows no row type. Tables are laid out by libsmartcols. */
#include "lib/cli/column.h"

#include "lib/base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define EMPTY        "--"
#define NAME_MAX_LEN 32

static void json_key(const struct column *col, char key[NAME_MAX_LEN])
{
	size_t i = 0;

	for (; i < NAME_MAX_LEN - 1 && col->name[i]; i++)
		key[i] = (char)tolower((unsigned char)col->name[i]);
	key[i] = '\0';
}

static const json_t *cell_value(const struct column *col, const json_t *row)
{
	char key[NAME_MAX_LEN];

	if (col->key)
		return json_object_get(row, col->key);
	json_key(col, key);
	return json_object_get(row, key);
}

static char *join(const json_t *array)
{
	char *text = NULL;
	size_t len = 0, i;
	FILE *out = open_memstream(&text, &len);
	json_t *item;

	if (!out)
		return NULL;
	json_array_foreach (array, i, item) {
		fprintf(out, "%s%s", i ? "," : "", json_string_value(item) ? json_string_value(item) : "?");
	}
	fclose(out);
	return text;
}

static char *as_it_is(const json_t *value)
{
	if (json_is_string(value))
		return strdup(json_string_value(value));
	if (json_is_array(value))
		return join(value);
	return json_is_number(value) ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
}

/* A cell as text, or empty; NULL without memory. */
static char *cell_text(const struct column *col, const json_t *row, const char *empty, bool raw)
{
	const json_t *value = cell_value(col, row);
	char *text = col->text && !(raw && col->raw) ? col->text(row, value) : as_it_is(value);

	if (text && *text)
		return text;
	free(text);
	return strdup(empty);
}

char *column_mbit(const json_t *row, const json_t *value)
{
	char *text;

	(void)row;
	if (!json_integer_value(value))
		return NULL;
	return asprintf(&text, "%.15g", (double)json_integer_value(value) / 1e6) < 0 ? NULL : text;
}

/* dladm's maxbw-rx and our maxbw_rx are one field. */
static bool same_name(const char *name, const char *field, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int c = field[i] == '-' ? '_' : toupper((unsigned char)field[i]);

		if (c != name[i])
			return false;
	}
	return !name[len];
}

static bool meant_field(const struct column *table, const char *field, char key[NAME_MAX_LEN])
{
	const char *names[2 * COLUMNS_MAX], *near;
	size_t n = 0;

	for (; table[n].name && n < 2 * COLUMNS_MAX; n++)
		names[n] = table[n].name;
	near = nearest(field, names, n);
	if (near)
		json_key(&(struct column){.name = near}, key);
	return near;
}

static int no_such_field(const struct column *table, const char *field, size_t len, struct err *e)
{
	char names[400] = "", key[NAME_MAX_LEN], object[64], meant[64] = "";

	snprintf(object, sizeof(object), "%.*s", (int)len, field);
	if (meant_field(table, object, key))
		snprintf(meant, sizeof(meant), "did you mean %s? ", key);
	for (const struct column *col = table; col->name; col++) {
		json_key(col, key);
		if (col->when == COLUMN_ALIAS)
			continue;
		strncat(names, *names ? "," : "", sizeof(names) - strlen(names) - 1);
		strncat(names, key, sizeof(names) - strlen(names) - 1);
	}
	return err_user(e, -EINVAL, object, "no such field: %s-o takes all or some of %s", meant, names);
}

static int choose_field(const struct column *table, const char *field, size_t len, struct columns *c,
			struct err *e)
{
	if (!len)
		return err_user(e, -EINVAL, NULL, "empty field name in -o: write -o FIELD[,FIELD]...");
	if (c->n == COLUMNS_MAX)
		return err_user(e, -EINVAL, NULL, "more than %d fields in -o", COLUMNS_MAX);
	for (const struct column *col = table; col->name; col++) {
		if (!same_name(col->name, field, len))
			continue;
		c->col[c->n++] = col;
		return 0;
	}
	if (len == 3 && !strncasecmp(field, "all", len))
		return err_user(e, -EINVAL, NULL, "-o all goes by itself: all fields are in it");
	return no_such_field(table, field, len, e);
}

static int choose_list(const struct column *table, const char *fields, struct columns *c, struct err *e)
{
	const char *end;
	int rc;

	do {
		end = fields + strcspn(fields, ",");
		rc = choose_field(table, fields, (size_t)(end - fields), c, e);
		fields = end + 1;
	} while (!rc && *end);
	return rc;
}

static void choose_up_to(const struct column *table, enum column_when when, struct columns *c)
{
	for (const struct column *col = table; col->name && c->n < COLUMNS_MAX; col++)
		if (col->when <= when)
			c->col[c->n++] = col;
}

int columns_choose(const struct column *table, const char *fields, bool json, struct columns *ret,
		   struct err *e)
{
	struct columns c = {.json = json};
	bool all = fields && !strcasecmp(fields, "all");
	int rc = 0;

	if (fields && !all)
		rc = choose_list(table, fields, &c, e);
	else
		choose_up_to(table, all || json ? COLUMN_REQUEST : COLUMN_DEFAULT, &c);
	if (!rc)
		*ret = c;
	return rc;
}

int columns_choose_parsable(const struct column *table, const char *fields, struct columns *ret,
			    struct err *e)
{
	struct columns c = {.parsable = true};
	int rc = choose_list(table, fields, &c, e);

	if (!rc)
		*ret = c;
	return rc;
}

/* A new object with the chosen keys; what the row does not say is null, so that every key is always there. */
static json_t *chosen(const struct columns *c, const json_t *row)
{
	json_t *obj = json_object();
	char key[NAME_MAX_LEN];

	for (size_t i = 0; i < c->n; i++) {
		json_t *value = json_deep_copy(cell_value(c->col[i], row));

		json_key(c->col[i], key);
		json_object_set_new(obj, key, value ? value : json_null());
	}
	return obj;
}

static int print_json(const struct columns *c, const json_t *rows, FILE *out, struct err *e)
{
	json_t *array = json_array(), *row;
	size_t i;
	int rc = 0;

	json_array_foreach (rows, i, row) {
		rc |= json_array_append_new(array, chosen(c, row));
	}
	if (!rc)
		rc = json_dumpf(array, out, JSON_INDENT(2)) || fputc('\n', out) == EOF;
	json_decref(array);
	/* A stream that cannot be written is reported where it is flushed. */
	return rc && !ferror(out) ? err_nomem(e) : 0;
}

static int add_row(const struct columns *c, struct libscols_table *table, const json_t *row)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	for (size_t i = 0; line && i < c->n; i++) {
		char *text = cell_text(c->col[i], row, EMPTY, false);

		if (!text || scols_line_refer_data(line, i, text)) {
			free(text);
			return -ENOMEM;
		}
	}
	return line ? 0 : -ENOMEM;
}

static int fill_table(const struct columns *c, struct libscols_table *table, const json_t *rows)
{
	json_t *row;
	size_t i;

	for (i = 0; i < c->n; i++)
		if (!scols_table_new_column(table, c->col[i]->name, 0, c->col[i]->right ? SCOLS_FL_RIGHT : 0))
			return -ENOMEM;
	json_array_foreach (rows, i, row) {
		if (add_row(c, table, row))
			return -ENOMEM;
	}
	return 0;
}

static int print_table(const struct columns *c, const json_t *rows, FILE *out, struct err *e)
{
	struct libscols_table *table = scols_new_table();
	int rc = table ? 0 : -ENOMEM;

	if (!rc)
		rc = scols_table_set_stream(table, out);
	/* The same text on a terminal as in a pipe: nothing is cut to the width of a screen. */
	if (!rc)
		rc = scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	if (!rc)
		rc = fill_table(c, table, rows);
	if (!rc && json_array_size(rows))
		rc = scols_print_table(table);
	scols_unref_table(table);
	return rc ? err_nomem(e) : 0;
}

/* As dladm's -p: where there is more than one field, ':' and '\\' in one are escaped. A line is a row. */
static void parsable_cell(const char *text, bool escape, FILE *out)
{
	for (; *text; text++) {
		if (escape && (*text == ':' || *text == '\\'))
			fputc('\\', out);
		fputc(iscntrl((unsigned char)*text) ? '?' : *text, out);
	}
}

static int parsable_row(const struct columns *c, const json_t *row, FILE *out, struct err *e)
{
	for (size_t i = 0; i < c->n; i++) {
		char *text = cell_text(c->col[i], row, "", true);

		if (!text)
			return err_nomem(e);
		if (i)
			fputc(':', out);
		parsable_cell(text, c->n > 1, out);
		free(text);
	}
	fputc('\n', out);
	return 0;
}

static int print_parsable(const struct columns *c, const json_t *rows, FILE *out, struct err *e)
{
	json_t *row;
	size_t i;
	int rc = 0;

	json_array_foreach (rows, i, row) {
		rc = rc ? rc : parsable_row(c, row, out, e);
	}
	return rc;
}

int columns_print(const struct columns *c, const json_t *rows, FILE *out, struct err *e)
{
	if (c->parsable)
		return print_parsable(c, rows, out, e);
	return c->json ? print_json(c, rows, out, e) : print_table(c, rows, out, e);
}

/* One cell of a streamed line: too long a text pushes the rest to the right. */
static void stream_cell(const struct columns *c, size_t i, const char *text, FILE *out)
{
	const struct column *col = c->col[i];
	int width = (int)col->width;

	if (!col->right && i + 1 == c->n)
		width = 0;
	fprintf(out, "%s%*s", i ? " " : "", col->right ? width : -width, text);
}

/* Names of links are others' to choose, and this may be a terminal. */
static void plain(char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			*text = '?';
}

void columns_stream_header(const struct columns *c, FILE *out)
{
	for (size_t i = 0; i < c->n; i++)
		stream_cell(c, i, c->col[i]->name, out);
	fputc('\n', out);
}

static int json_row(const struct columns *c, const json_t *row, FILE *out, struct err *e)
{
	json_t *obj = chosen(c, row);
	int rc = json_dumpf(obj, out, JSON_REAL_PRECISION(15));

	json_decref(obj);
	fputc('\n', out);
	return rc && !ferror(out) ? err_nomem(e) : 0;
}

int columns_stream_row(const struct columns *c, const json_t *row, FILE *out, struct err *e)
{
	if (c->json || c->parsable)
		return (c->json ? json_row : parsable_row)(c, row, out, e);
	for (size_t i = 0; i < c->n; i++) {
		char *text = cell_text(c->col[i], row, EMPTY, false);

		if (!text)
			return err_nomem(e);
		plain(text);
		stream_cell(c, i, text, out);
		free(text);
	}
	fputc('\n', out);
	return 0;
}
