/* isolate.c: see isolate.h. The process runs this program itself (source_child.h). It may open the
 * source if that is a path, the files that SQLite creates beside a database, and the paths in the
 * module's options.
 *
 * A source whose provider has lists of tools or prompts of its own (mcp_source.items) is not
 * mounted from its description, because these lists are not described.
 */
#define _GNU_SOURCE
#include "isolate.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capacity.h"
#include "source_child.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAX_DATA 0 /* no limit: shadow memory counts as data */
#else
#define MAX_DATA ((uint64_t)1 << 30)
#endif

enum { PATHS = 32, GRACE_MS = 60000 };

/* The source, as the arguments of isolate_mount() describe it. */
typedef struct subject {
    const mcp_module *module;
    const char *text, *name;
    const mcp_json *options;
    bool described; /* the source is mounted from its description */
    bool check;     /* the module first checks whether the source works */
} subject;

/* ---- what the process may open --------------------------------------------------------------- */

typedef struct paths {
    char *items[PATHS + 1]; /* NULL-terminated */
    size_t count;
    bool failed;
} paths;

static void add_path(paths *p, const char *path)
{
    char *made = p->count < PATHS ? strdup(path) : NULL;
    if (made)
        p->items[p->count++] = made;
    else
        p->failed = true;
}

static void add_option(mcp_str path, void *user)
{
    if (path.ptr)
        add_path(user, path.ptr);
}

/* Returns the ends of the names that SQLite uses beside a database. */
static const char *const *beside_of(const mcp_module *module)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal", NULL};
    return module->source_is_path ? suffixes : NULL;
}

static void clear(paths *p)
{
    while (p->count)
        free(p->items[--p->count]);
}

/* ---- its first line -------------------------------------------------------------------------- */

static void put_text(mcp_json_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    mcp_json_key(w, key);
    mcp_json_add_string(w, text);
}

/* Returns the shared object of a module, or NULL if the module is part of the program. */
static const char *file_of(const mcp_module *module)
{
    Dl_info own, its;
    if (!dladdr((void *)(uintptr_t)isolate_mount, &own) || !dladdr(module, &its) ||
        own.dli_fbase == its.dli_fbase)
        return NULL;
    return its.dli_fname;
}

static void put_texts(mcp_json_writer *w, const char *key, const char *const *list)
{
    mcp_json_key(w, key);
    mcp_json_begin_array(w);
    for (size_t i = 0; list && list[i]; i++)
        mcp_json_add_string(w, list[i]);
    mcp_json_end(w);
}

/* Makes the line that describes the source to its process (source_child.h). The caller frees it.
 * Returns NULL if out of memory, or if a path or a string cannot be written. */
static char *make_line(const offer *o, const subject *s, const paths *p)
{
    enum { MARGIN = 65536, LEAST = 4 << 20 };
    uint64_t body = o->now->max_body > LEAST ? o->now->max_body : LEAST;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str made;
    mcp_json_begin_object(w);
    put_text(w, "module", s->module->name);
    put_text(w, "file", file_of(s->module));
    put_text(w, "source", s->text);
    put_text(w, "name", s->name);
    if (s->options)
        mcp_json_put_value(w, "options", s->options);
    put_texts(w, "read", (const char *const *)p->items);
    put_texts(w, "beside", beside_of(s->module));
    mcp_json_put_bool(w, "report", true);
    mcp_json_put_bool(w, "check", s->check);
    mcp_json_put_bool(w, "access", o->building != NULL);
    mcp_json_put_uint(w, "page_size", o->now->page_size);
    mcp_json_put_uint(w, "max_message", body + MARGIN);
    mcp_json_put_uint(w, "max_work_memory", o->now->max_work_memory);
    mcp_json_end(w);
    bool ok = !p->failed && mcp_json_writer_finish(w, &made) == MCP_OK;
    char *line = ok ? calloc(1, made.len + 1) : NULL; /* strndup() might read beyond the text */
    if (line)
        memcpy(line, made.ptr, made.len);
    mcp_json_writer_free(w);
    return line;
}

/* ---- mounting -------------------------------------------------------------------------------- */

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    const offer *o = user;
    return !o->rules || access_may(identity, item, name, o->rules);
}

static const char *scopes(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    const offer *o = user;
    return o->rules ? access_scopes(identity, item, name, o->rules) : NULL;
}

/* Returns the time limit of one request: the source's own timeout_ms plus GRACE_MS, because the
 * request may have to wait for others. */
static uint64_t timeout_of(const mcp_json *options)
{
    int64_t own = mcp_json_int(mcp_json_get(options, "timeout_ms"), 0);
    return (uint64_t)(own > 0 ? own : 0) + GRACE_MS;
}

static int describe(const mcp_description *to, void *user, mcp_error *error)
{
    const subject *s = user;
    return modules_describe(s->module, s->text, s->options, s->name, to, error);
}

static int mount(offer *o, mcp_server *server, const char *label, const char *line, const paths *p,
                 subject *s, mcp_error *error)
{
    static const char *const argv[] = {"/proc/self/exe", SOURCE_CHILD, NULL};
    o->isolated.max = (size_t)capacity_settings(o->now).max_source_processes;
    o->isolated.max_name = "--max-source-processes";
    return mcp_isolated_mount(
        server,
        MCP_OPTIONS(mcp_isolated_options, .name = label, .argv = argv, .line = line,
                    .paths = (const char *const *)p->items, .beside = beside_of(s->module),
                    .may = o->building ? may : NULL, .scopes = scopes, .user = o,
                    .describe = s->described ? describe : NULL, .describe_user = s,
                    .max_data = MAX_DATA, .timeout_ms = timeout_of(s->options),
                    .group = &o->isolated),
        error);
}

static int mount_apart(offer *o, mcp_server *server, subject *s, mcp_error *error)
{
    paths p = {0};
    char label[200];
    int rc;
    if (s->module->source_is_path)
        add_path(&p, s->text);
    modules_each_path(s->module, s->options, add_option, &p);
    char *line = make_line(o, s, &p);
    snprintf(label, sizeof(label), "%.32s:%.150s", s->module->name, s->name ? s->name : s->text);
    modules_remove_passwords(label);
    if (line)
        rc = mount(o, server, label, line, &p, s, error);
    else
        rc = MODULES_FAIL(error, MCP_ENOMEM, "%s: a path or a text cannot be passed on", label);
    free(line);
    clear(&p);
    return rc;
}

/* Checks the options, and gets the module's description of the source. */
static int ask_module(subject *s, described *ret, mcp_error *error)
{
    mcp_description to = described_by(ret);
    return modules_can_describe(s->module) ? describe(&to, s, error)
                                           : modules_check_options(s->module, s->options, error);
}

int isolate_mount(offer *o, const mcp_module *module, mcp_server *server, const char *text,
                  const mcp_json *options, const char *name, mcp_error *error)
{
    subject s = {.module = module, .text = text, .name = name, .options = options};
    described d = {.n_templates = 0};
    int rc = ask_module(&s, &d, error);
    s.described = modules_can_describe(module) && !d.lists_items;
    if (rc == MCP_OK && s.described && !d.in_process)
        rc = modules_look(module, text, options, name, error);
    if (rc == MCP_OK)
        rc = d.in_process ? modules_mount(module, server, text, options, name, error)
                          : mount_apart(o, server, &s, error);
    described_clear(&d);
    return rc;
}

/* Mounts the source in a server that is freed at once. */
static int try_apart(offer *o, subject *s, mcp_error *error)
{
    mcp_loop *loop = NULL;
    mcp_server *server = NULL;
    s->check = true;
    int rc = mcp_loop_new(NULL, &loop, error);
    if (rc == MCP_OK)
        rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "mcpd", .version = "1",
                                        .host = mcp_loop_host(loop)),
                            &server, error);
    if (rc == MCP_OK)
        rc = mount_apart(o, server, s, error);
    mcp_server_free(server);
    mcp_loop_free(loop);
    return rc;
}

int isolate_try(offer *o, const mcp_module *module, const char *text, const mcp_json *options,
                const char *name, mcp_error *error)
{
    subject s = {.module = module, .text = text, .name = name, .options = options};
    described d = {.n_templates = 0};
    int rc = ask_module(&s, &d, error);
    if (rc == MCP_OK)
        rc = d.in_process ? modules_try(module, text, options, name, error)
                          : try_apart(o, &s, error);
    described_clear(&d);
    return rc;
}
