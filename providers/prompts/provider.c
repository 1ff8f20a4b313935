/* provider.c: registers the prompts of the folder in the server.
 *
 * Prompts are registered in the order of the files. If only the text of a prompt changed, its
 * registration remains and gets the new document, so no list change is announced. If a list entry
 * changed, this prompt and all that follow are registered again, which clients receive as one
 * notification.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "folder.h"
#include "get.h"
#include "prompts.h"
#include "watch.h"

typedef struct slot {
    mcp_prompts *all;
    prompts_document *doc;
    bool registered; /* false if another prompt has the name */
} slot;

typedef struct rereading rereading;

struct mcp_prompts {
    mcp_allocator alloc;
    mcp_server *server;
    char *path;
    prompts_folder *folder; /* NULL while `rereading` uses it */
    slot **slots;           /* room for PROMPTS_MAX_FILES */
    size_t n_slots;
    prompts_watch *watch;
    prompts_embeds *embeds;
    rereading *rereading;
    bool again;   /* something changed after `rereading` began */
    bool missing; /* the last attempt to read the folder failed */
};

/* ---- logging --------------------------------------------------------------------------------- */

static void say(const mcp_prompts *p, const char *format, ...) MCP_PRINTF(2, 3);

static void say(const mcp_prompts *p, const char *format, ...)
{
    char line[700];
    const mcp_host *host = mcp_server_host(p->server);
    if (!host || !host->log)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    host->log("warning", line, host->user);
}

static void say_fault(const mcp_prompts *p, const prompts_entry *e)
{
    const char *so = e->doc ? "; the previous version of the prompt is kept" : "; it is left out";
    if (e->fault.line)
        say(p, "%.300s/%.255s:%zu: %s%s", p->path, e->file, e->fault.line, e->fault.text, so);
    else
        say(p, "%.300s/%.255s: %s%s", p->path, e->file, e->fault.text, so);
}

/* ---- handlers -------------------------------------------------------------------------------- */

static int get(mcp_request *req, const mcp_json *arguments, void *user)
{
    slot *s = user;
    return prompts_get(req, s->doc, arguments, s->all->embeds);
}

static int complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user)
{
    const slot *s = user;
    (void)context;
    return prompts_complete(req, s->doc, name, value);
}

/* ---- registration ---------------------------------------------------------------------------- */

static int register_slot(mcp_prompts *p, slot *s, mcp_error *error)
{
    const prompts_document *d = s->doc;
    mcp_prompt_argument arguments[PROMPTS_MAX_ARGUMENTS];
    mcp_icon icons[PROMPTS_MAX_ICONS];
    for (size_t i = 0; i < d->n_arguments; i++)
        arguments[i] = (mcp_prompt_argument){.size = sizeof(*arguments),
                                             .name = d->arguments[i].name,
                                             .title = d->arguments[i].title,
                                             .description = d->arguments[i].description,
                                             .required = d->arguments[i].required};
    for (size_t i = 0; i < d->n_icons; i++)
        icons[i] = (mcp_icon){.size = sizeof(*icons), .src = d->icons[i]};
    return mcp_server_add_prompt(
        p->server,
        MCP_OPTIONS(mcp_prompt, .name = d->name, .title = d->title, .description = d->description,
                    .arguments = arguments, .n_arguments = d->n_arguments, .icons = icons,
                    .n_icons = d->n_icons, .get = get, .complete = complete),
        s, error);
}

/* Registers a prompt. If that fails, the reason is logged, and registration is tried again when
 * the files change. */
static int add_slot(mcp_prompts *p, prompts_document *doc)
{
    mcp_error error = {0};
    slot *s = common_alloc(&p->alloc, sizeof(*s));
    if (!s)
        return MCP_ENOMEM;
    *s = (slot){.all = p, .doc = prompts_document_ref(doc)};
    int rc = register_slot(p, s, &error);
    s->registered = rc == MCP_OK;
    if (rc != MCP_OK && rc != MCP_ENOMEM)
        say(p, "%.300s: the prompt %s: %s", p->path, doc->name, error.text);
    p->slots[p->n_slots++] = s;
    return rc == MCP_ENOMEM ? rc : MCP_OK;
}

/* Removes the prompts from index `from` on. */
static void drop_slots(mcp_prompts *p, size_t from)
{
    while (p->n_slots > from) {
        slot *s = p->slots[--p->n_slots];
        if (s->registered)
            mcp_server_remove_prompt(p->server, s->doc->name);
        prompts_document_unref(s->doc);
        common_release(&p->alloc, s);
    }
}

/* Returns the entry of an earlier file that defines the same prompt name, or NULL. */
static const prompts_entry *holder(const prompts_folder *f, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        const prompts_entry *e = &f->entries[j];
        if (e->doc && strcmp(e->doc->name, f->entries[i].doc->name) == 0)
            return e;
    }
    return NULL;
}

/* Chooses the documents in order, one for each name. Must be called before the reading is adopted,
 * because `kept` marks the unchanged ones. */
static size_t choose(const mcp_prompts *p, const prompts_folder *f, prompts_document **chosen)
{
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++) {
        const prompts_entry *e = &f->entries[i];
        const prompts_entry *first = e->doc ? holder(f, i) : NULL;
        if (first && (!e->borrowed || !first->borrowed))
            say(p, "%.300s/%.255s: the prompt \"%s\" is already defined by %s; this one is ignored",
                p->path, e->file, e->doc->name, first->file);
        if (e->doc && !first)
            chosen[n++] = e->doc;
    }
    return n;
}

/* Updates the server's prompts to the chosen documents. */
static int publish(mcp_prompts *p, prompts_document *const *chosen, size_t n)
{
    size_t i = 0;
    int rc = MCP_OK;
    for (; i < n && i < p->n_slots; i++) {
        slot *s = p->slots[i];
        if (!prompts_document_same_entry(s->doc, chosen[i]) || !s->registered)
            break;
        prompts_document *old = s->doc;
        s->doc = prompts_document_ref(chosen[i]);
        prompts_document_unref(old);
    }
    drop_slots(p, i);
    for (; rc == MCP_OK && i < n; i++)
        rc = add_slot(p, chosen[i]);
    return rc;
}

/* Replaces `before` by a new reading. */
static int take_over(mcp_prompts *p, prompts_folder *folder, prompts_folder *before)
{
    prompts_document **chosen = common_alloc(&p->alloc, (folder->count + 1) * sizeof(*chosen));
    size_t n = chosen ? choose(p, folder, chosen) : 0;
    for (size_t i = 0; i < folder->count; i++)
        if (folder->entries[i].invalid && folder->entries[i].is_new)
            say_fault(p, &folder->entries[i]);
    if (folder->truncated && (!before || !before->truncated))
        say(p, "%.300s: there are more than %d prompts; the rest is left out", p->path,
            PROMPTS_MAX_FILES);
    prompts_folder_adopt(folder);
    prompts_folder_free(before);
    p->folder = folder;
    int rc = chosen ? publish(p, chosen, n) : MCP_ENOMEM;
    common_release(&p->alloc, chosen);
    return rc;
}

/* ---- reading again --------------------------------------------------------------------------- */

/* Data of the worker; does not refer to objects that may be freed meanwhile. */
struct rereading {
    mcp_prompts *owner; /* NULL after it was freed */
    mcp_allocator alloc;
    char *path;
    prompts_folder *before, *after;
    int rc, why;
};

static void reread(mcp_prompts *p);

static void read_work(void *arg)
{
    rereading *r = arg;
    r->rc = prompts_folder_read(r->path, r->before, &r->alloc, &r->after, &r->why);
}

/* Logs that the folder cannot be read. Its prompts are kept, because it may reappear soon. */
static void tell_missing(mcp_prompts *p, const rereading *r)
{
    if (!p->missing && r->rc != MCP_ECANCELLED)
        say(p, "%.300s: %s; the previous prompts are kept", p->path,
            r->why ? strerror(r->why) : mcp_error_text(r->rc));
    p->missing = true;
}

static void read_done(void *arg)
{
    rereading *r = arg;
    mcp_prompts *p = r->owner;
    if (p) {
        p->rereading = NULL;
        if (r->rc == MCP_OK) {
            p->missing = false;
            if (take_over(p, r->after, r->before) != MCP_OK)
                say(p, "%.300s: out of memory; some prompts are missing", p->path);
        } else {
            p->folder = r->before;
            tell_missing(p, r);
            if (r->rc == MCP_EFILES) /* no event will report that descriptors are available again */
                prompts_watch_again(p->watch);
        }
    } else {
        prompts_folder_free(r->after);
        prompts_folder_free(r->before);
    }
    mcp_allocator a = r->alloc;
    common_release(&a, r->path);
    common_release(&a, r);
    if (p && p->again)
        reread(p);
}

/* Reads the folder, on a worker if there is one, because the disk may be slow. */
static void reread(mcp_prompts *p)
{
    const mcp_host *host = mcp_server_host(p->server);
    if (p->rereading) {
        p->again = true;
        return;
    }
    p->again = false;
    rereading *r = common_alloc(&p->alloc, sizeof(*r));
    char *path = common_copy(&p->alloc, p->path, strlen(p->path));
    if (!r || !path) {
        common_release(&p->alloc, r);
        common_release(&p->alloc, path);
        say(p, "%.300s: out of memory; the previous prompts are kept", p->path);
        return;
    }
    *r = (rereading){
        .owner = p, .alloc = p->alloc, .path = path, .before = p->folder, .rc = MCP_ECANCELLED};
    p->folder = NULL;
    p->rereading = r;
    if (host && host->work && host->work(read_work, read_done, r, host->user) >= 0)
        return;
    read_work(r);
    read_done(r);
}

void mcp_prompts_reread(mcp_prompts *prompts)
{
    reread(prompts);
}

static void on_changed(void *user)
{
    reread(user);
}

/* ---- creating and freeing -------------------------------------------------------------------- */

static int refuse(mcp_error *error, int code, const char *folder, const char *why)
{
    if (error) {
        error->code = code;
        error->offset = 0;
        snprintf(error->text, sizeof(error->text), "%.180s: %s", folder, why);
    }
    return code;
}

static int first_reading(mcp_prompts *p, mcp_error *error)
{
    prompts_folder *folder;
    int why = 0;
    int rc = prompts_folder_read(p->path, NULL, &p->alloc, &folder, &why);
    if (rc == MCP_OK)
        rc = take_over(p, folder, NULL);
    if (rc != MCP_OK)
        return refuse(error, rc, p->path, why ? strerror(why) : mcp_error_text(rc));
    return rc;
}

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_prompts_options, poll_ms, 2000),
};

/* Starts watching before reading, so that no change in between is missed. */
static int begin(mcp_prompts *p, const mcp_prompts_options *given, mcp_error *error)
{
    mcp_prompts_options filled = *given, *o = &filled;
    MCP_SET_DEFAULTS(o, defaults);
    const mcp_host *host = mcp_server_host(p->server);
    p->path = common_copy(&p->alloc, o->folder, strlen(o->folder));
    p->slots = common_alloc(&p->alloc, PROMPTS_MAX_FILES * sizeof(*p->slots));
    if (!p->path || !p->slots)
        return refuse(error, MCP_ENOMEM, o->folder, "out of memory");
    int rc = prompts_embeds_new(p->server, &p->alloc, &p->embeds);
    if (rc == MCP_OK && !o->no_watch)
        rc = prompts_watch_new(p->path, host, o->poll_ms, &p->alloc, on_changed, p, &p->watch);
    if (rc != MCP_OK && rc != MCP_EUNSUPPORTED)
        return refuse(error, rc, o->folder, mcp_error_text(rc));
    return first_reading(p, error);
}

int mcp_prompts_add(mcp_server *server, const mcp_prompts_options *options, mcp_prompts **ret,
                    mcp_error *error)
{
    if (!options->folder || !*options->folder)
        return refuse(error, MCP_EINVAL, "prompts", "no folder is named");
    mcp_allocator alloc = common_allocator(options->allocator);
    mcp_prompts *p = common_alloc(&alloc, sizeof(*p));
    if (!p)
        return refuse(error, MCP_ENOMEM, options->folder, "out of memory");
    *p = (mcp_prompts){.alloc = alloc, .server = server};
    int rc = begin(p, options, error);
    if (rc == MCP_OK)
        *ret = p;
    else
        mcp_prompts_free(p);
    return rc;
}

void mcp_prompts_free(mcp_prompts *p)
{
    if (!p)
        return;
    prompts_watch_free(p->watch);
    prompts_embeds_free(p->embeds);
    if (p->rereading)
        p->rereading->owner = NULL;
    drop_slots(p, 0);
    prompts_folder_free(p->folder);
    mcp_allocator alloc = p->alloc;
    common_release(&alloc, p->slots);
    common_release(&alloc, p->path);
    common_release(&alloc, p);
}
