/* modules.h: providers that are loaded when a source needs them (mcp/module.h).
 *
 * A source "NAME:REST" belongs to the module NAME: one that is linked in, one given by --module, or
 * NAME.so in the folder of modules, in this order. Write a file whose name has this form as
 * "./NAME:REST". A module is loaded when it is first needed, and stays until the program ends.
 */
#ifndef MCPD_MODULES_H
#define MCPD_MODULES_H

#include <stdio.h>

#include <mcp/module.h>

typedef struct modules modules;

/* Whether the word is "NAME:REST". */
bool modules_is_source(const char *word);
/* The length of its NAME; 0: it has none. */
size_t modules_name_length(const char *word);

/* Says what went wrong; MODULES_FAIL is the code too, so that readers and analyzers see that it is
 * one. */
void modules_explain(mcp_error *error, int code, const char *format, ...) MCP_PRINTF(3, 4);
#define MODULES_FAIL(error, code, ...) (modules_explain(error, code, __VA_ARGS__), (code))

/* NULL: no memory. */
modules *modules_new(void);
/* To be freed after the servers. NULL is allowed. */
void modules_free(modules *m);

/* Loads somebody's module from a file: --module. MCP_ENOTFOUND, MCP_EINVAL (not a module of this
 * version, or its name is taken), MCP_ENOMEM; error->text says which and why. */
int modules_load(modules *m, const char *path, mcp_error *error);

/* The module of a name, loaded now if need be. The same errors. */
int modules_find(modules *m, mcp_str name, const mcp_module **ret, mcp_error *error);

/* One of this project, whether it is there or not; NULL: it is none of them. */
typedef struct modules_known {
    const char *name, *what;      /* the source is NAME:WHAT */
    const char *option, *library; /* of the build, and what it needs */
    const char *package;          /* with the library, on Debian */
} modules_known;
const modules_known *modules_know(mcp_str name);
const modules_known *modules_known_at(size_t i);

/* Those that are linked in or loaded by now; NULL: no more. */
const mcp_module *modules_at(const modules *m, size_t i);
/* Where they are looked for: beside this program, or where they were to be installed. False: that
 * cannot be told. */
bool modules_folder(bool installed, char *to, size_t room);

/* list.c: all there are, loaded for it, with their options; and those of this project that are not
 * there. MCP_OK, MCP_ENOMEM. */
int modules_list(modules *m, FILE *to);

/* Checks the options, then mounts; `source` is without "NAME:". */
int modules_mount(const mcp_module *module, mcp_server *server, const char *source,
                  const mcp_json *options, const char *name, mcp_error *error);

/* Checks the options, then whether the source works now, if the module can tell. May take some
 * seconds. */
int modules_try(const mcp_module *module, const char *source, const mcp_json *options,
                const char *name, mcp_error *error);
bool modules_can_try(const mcp_module *module);

/* ---- words of the command line (words.c) ----------------------------------------------------- */

/* A source as the command line has it, "NAME:REST?option=value&…" taken apart; the options are of
 * the types that the module's schema gives them, `name` is the source's name. The last "?" that a
 * word and "=" follow begins them; what stands before is not decoded. */
typedef struct modules_word {
    const mcp_module *module;
    char *source, *name; /* name may be NULL */
    mcp_json_doc *options;
} modules_word;
int modules_read_word(modules *m, const char *word, modules_word *ret, mcp_error *error);
void modules_clear_word(modules_word *word);

/* The word with its paths made absolute, those of `base` (see modules_place()). NULL: it cannot be
 * made. free() it. */
char *modules_absolute(modules *m, const char *word, const char *base);

/* ---- paths (paths.c) ------------------------------------------------------------------------- */

/* What stands for the "~" of a path that begins with "~/"; NULL: it does not, or nobody knows. */
const char *modules_home(const char *path);
/* Where a path lies that stands in a file of the folder `base`, where ~/ is home; NULL: of the
 * present folder. NULL: no memory, or there is no present folder. free() it. */
char *modules_place(const char *path, const char *base);
/* The options with their paths placed so. False: they cannot be. */
bool modules_put_options(mcp_json_writer *w, const mcp_module *module, const mcp_json *options,
                         const char *base);
/* The same for those of a word, "?NAME=VALUE&..." or "". free() it. */
char *modules_place_words(const mcp_module *module, const char *options, const char *base);

/* ---- passwords (passwords.c) ----------------------------------------------------------------- */

/* Takes the passwords out of a connection string, in place: nothing that is printed has one. */
void modules_remove_passwords(char *text);

#endif
