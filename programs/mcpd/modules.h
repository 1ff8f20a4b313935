/* modules.h: providers that are loaded when a source needs them (mcp/module.h).
 *
 * A source "NAME:REST" belongs to the module NAME. It is searched for among the modules that are
 * linked in, then among those given by --module, and then as NAME.so in the folder of modules. A
 * file whose name has this form is written as "./NAME:REST". A module is loaded when it is first
 * needed, and stays loaded until the program ends.
 */
#ifndef MCPD_MODULES_H
#define MCPD_MODULES_H

#include <stdio.h>

#include <mcp/module.h>

typedef struct modules modules;

/* Returns whether the word is "NAME:REST". */
bool modules_is_source(const char *word);
/* Returns the length of NAME, or 0 if the word does not have this form. */
size_t modules_name_length(const char *word);

/* Sets *error; MODULES_FAIL also evaluates to the code, so that readers and analyzers can see that
 * the function fails. */
void modules_explain(mcp_error *error, int code, const char *format, ...) MCP_PRINTF(3, 4);
#define MODULES_FAIL(error, code, ...) (modules_explain(error, code, __VA_ARGS__), (code))

/* Returns NULL if out of memory. */
modules *modules_new(void);
/* Must be called after the servers are freed. NULL is allowed. */
void modules_free(modules *m);

/* Loads a module from a file: --module. Fails with MCP_ENOTFOUND, MCP_EINVAL (not a module of this
 * version, or its name is taken), MCP_ENOMEM; error->text has the details. */
int modules_load(modules *m, const char *path, mcp_error *error);

/* Gets the module with this name, and loads it if necessary. Fails with the same errors. */
int modules_find(modules *m, mcp_str name, const mcp_module **ret, mcp_error *error);

/* A module of this project, which may not be available. modules_know() returns NULL for other
 * names. */
typedef struct modules_known {
    const char *name, *what;      /* the source is NAME:WHAT */
    const char *option, *library; /* build option, and the library that it needs */
    const char *package;          /* Debian's package of the library */
} modules_known;
const modules_known *modules_know(mcp_str name);
const modules_known *modules_known_at(size_t i);

/* Returns the i-th of the modules that are linked in or loaded so far, or NULL at the end. */
const mcp_module *modules_at(const modules *m, size_t i);
/* Gets the folder of modules: that of the installation, or the one beside this program. Returns
 * false if it is unknown. */
bool modules_folder(bool installed, char *to, size_t room);

/* list.c: loads and prints all available modules with their options, and prints the missing modules
 * of this project. Returns MCP_OK or MCP_ENOMEM. */
int modules_list(modules *m, FILE *to);

/* Checks the options, then mounts the source; `source` has no "NAME:". */
int modules_mount(const mcp_module *module, mcp_server *server, const char *source,
                  const mcp_json *options, const char *name, mcp_error *error);

/* Checks the options, then whether the source works now, if the module can check this, or else what
 * modules_look() finds. May take some seconds. */
int modules_try(const mcp_module *module, const char *source, const mcp_json *options,
                const char *name, mcp_error *error);
/* Checks the options alone. */
int modules_check_options(const mcp_module *module, const mcp_json *options, mcp_error *error);
bool modules_can_try(const mcp_module *module);

/* Checks the options, then lets the module describe the source, without opening it. Returns the
 * errors of mcp_module.describe, or MCP_EUNSUPPORTED if the module has no such function (see
 * modules_can_describe()). */
int modules_describe(const mcp_module *module, const char *source, const mcp_json *options,
                     const char *name, const mcp_description *to, mcp_error *error);
bool modules_can_describe(const mcp_module *module);
/* Looks for mistakes in the source (mcp_module.look). Returns MCP_OK if the module has no such
 * function. The options must have been checked. */
int modules_look(const mcp_module *module, const char *source, const mcp_json *options,
                 const char *name, mcp_error *error);

/* ---- sources on the command line (words.c) --------------------------------------------------- */

/* A parsed source of the command line, "NAME:REST?option=value&…". The options have the types of
 * the module's schema; `name` is the name of the source. The options begin at the last "?" that is
 * followed by a word and "=". The part before it is not decoded. */
typedef struct modules_word {
    const mcp_module *module;
    char *source, *name; /* name may be NULL */
    mcp_json_doc *options;
} modules_word;
int modules_read_word(modules *m, const char *word, modules_word *ret, mcp_error *error);
void modules_clear_word(modules_word *word);

/* Returns the word with its paths made absolute from `base` (see modules_place()). The caller frees
 * it. Returns NULL on failure. */
char *modules_absolute(modules *m, const char *word, const char *base);

/* ---- paths (paths.c) ------------------------------------------------------------------------- */

/* Returns the home folder if the path begins with "~/". Returns NULL if it does not, or if the
 * folder is unknown. */
const char *modules_home(const char *path);
/* Makes a path absolute. "~/" at its beginning stands for the home folder; otherwise a relative
 * path is resolved against the folder `base`, or against the current folder if `base` is NULL. The
 * caller frees the result. Returns NULL if out of memory, or if there is no current folder. */
char *modules_place(const char *path, const char *base);
/* Writes the options with their paths made absolute. Returns false on failure. */
bool modules_put_options(mcp_json_writer *w, const mcp_module *module, const mcp_json *options,
                         const char *base);
/* Returns whether the module has an option with this name. */
bool modules_has_option(const mcp_module *module, const char *name);
/* Calls each(path, user) for each option that is a path. */
void modules_each_path(const mcp_module *module, const mcp_json *options,
                       void (*each)(mcp_str path, void *user), void *user);
/* Returns options of the command line ("?NAME=VALUE&..." or "") with their paths made absolute. The
 * caller frees the result. Returns NULL on failure. */
char *modules_place_words(const mcp_module *module, const char *options, const char *base);

/* ---- passwords (passwords.c) ----------------------------------------------------------------- */

/* Removes the passwords from a connection string, in place. It is called for everything that is
 * printed. */
void modules_remove_passwords(char *text);

#endif
