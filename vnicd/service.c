/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers org.varlink.service from constants and from the interface file built in; touches nothing else. */
#include "vnicd/service.h"

#include "lib/ipc/varlink_text.h"
#include "vnicd/session.h"

#include <string.h>

/* As varlink.org gives it. */
static const char service_text[] =
	"interface org.varlink.service\n"
	"\n"
	"method GetInfo() -> (\n"
	"  vendor: string,\n"
	"  product: string,\n"
	"  version: string,\n"
	"  url: string,\n"
	"  interfaces: []string\n"
	")\n"
	"method GetInterfaceDescription(interface: string) -> (description: string)\n"
	"\n"
	"error InterfaceNotFound(interface: string)\n"
	"error MethodNotFound(method: string)\n"
	"error MethodNotImplemented(method: string)\n"
	"error InvalidParameter(parameter: string)\n"
	"error PermissionDenied()\n"
	"error ExpectedMore()\n";

static const struct {
	const char *name, *text;
} interfaces[] = {
	{.name = SERVICE, .text = service_text},
	{.name = "org.vnicd", .text = varlink_text},
};
#define INTERFACES (sizeof(interfaces) / sizeof(interfaces[0]))

static void get_info(struct call *c)
{
	json_t *names = json_array();

	for (size_t i = 0; i < INTERFACES; i++)
		json_array_append_new(names, json_string(interfaces[i].name));
	call_reply(c,
		   json_pack("{s:s,s:s,s:s,s:s,s:o}", "vendor", "vnicd", "product", "vnicd", "version",
			     VERSION, "url", "man:vnicd(8)", "interfaces", names),
		   false);
}

static void get_interface_description(struct call *c)
{
	const char *name = json_string_value(json_object_get(call_params(c), "interface"));

	if (!name) {
		call_invalid(c, "interface");
		return;
	}
	for (size_t i = 0; i < INTERFACES; i++) {
		if (!strcmp(name, interfaces[i].name)) {
			call_reply(c, json_pack("{s:s}", "description", interfaces[i].text), false);
			return;
		}
	}
	call_no_interface(c, name);
}

static const struct {
	const char *name;
	void (*answer)(struct call *c);
} methods[] = {
	{.name = "GetInfo", .answer = get_info},
	{.name = "GetInterfaceDescription", .answer = get_interface_description},
};

void service_handle(struct call *c)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (!strcmp(call_method(c), methods[i].name)) {
			methods[i].answer(c);
			return;
		}
	}
	call_not_found(c);
}
