/* list.c: writes the pages of the four lists.
 *
 * The parts of a list have a fixed order: the registered entries, then each mounted provider. A
 * cursor names a part and a position in it. The cost of a page is therefore proportional to its
 * entries, and entries that are added or removed between pages cause no other entry to be repeated
 * or skipped. A mounted provider that fails is left out; left_out.c remembers which.
 */
#include <inttypes.h>
#include <stdio.h>

#include "protocol/cursor.h"
#include "server/core/access.h"
#include "server/core/seal.h"
#include "server/core/trace.h"
#include "server/methods/left_out.h"

static int bad_cursor(mcp_request *req)
{
    return mcp_reply_fail(
        req, MCP__INVALID_PARAMS,
        "Invalid params: \"cursor\" is not valid for this list: start again without it");
}

static bool is_sealed_by(const mcp_server *server, uint32_t part)
{
    return part && server->mounts[part - 1]->provider.seals_cursors;
}

/* A position may name an item that the caller may not see, so cursors are encrypted if there are
 * access rules, and those of providers that want it always. A trusted parent encrypts them itself;
 * its cursors outlive this process. */
static bool is_sealed(const mcp_request *req, uint32_t part)
{
    const mcp_channel *channel = req->in.channel;
    return (req->server->access.may != NULL || is_sealed_by(req->server, part)) &&
           !(channel && channel->options.trusted_parent);
}

static bool may_be_sealed(const mcp_request *req)
{
    for (uint32_t part = 0; part <= req->server->n_mounts; part++) {
        if (is_sealed(req, part))
            return true;
    }
    return false;
}

/* Decrypts a cursor if this server has sealed it. Returns whether it has. */
static bool open_cursor(mcp_request *req, mcp_str *token)
{
    mcp__buf plain;
    if (!may_be_sealed(req))
        return false;
    mcp__buf_init(&plain, &req->server->allocator, 0);
    bool ours = mcp__seal_open(req->server, MCP_STR("cursor"), *token, &plain, NULL) == MCP_OK;
    if (ours)
        *token = mcp__request_copy(req, mcp__buf_view(&plain));
    mcp__buf_free(&plain);
    return ours && token->ptr;
}

static void put_sealed(mcp_request *req, mcp__buf *b, const mcp__cursor *cursor)
{
    mcp__buf plain;
    mcp__buf_init(&plain, &req->server->allocator, 0);
    mcp__put_cursor(&plain, cursor, mcp__request_binding(req));
    mcp__buf_char(b, '"');
    int rc = plain.failed;
    if (rc == MCP_OK)
        rc = mcp__seal_text(req->server, MCP_STR("cursor"), (mcp_str){plain.ptr + 1, plain.len - 2},
                            b, NULL); /* the token without its quotes */
    mcp__buf_char(b, '"');
    if (rc != MCP_OK && !b->failed)
        b->failed = rc;
    mcp__buf_free(&plain);
}

static uint64_t name_of_part(const mcp_server *server, uint32_t part)
{
    return part ? mcp__cursor_part(mcp_str_from(server->mounts[part - 1]->prefix)) : 0;
}

/* Finds the part with that name. Returns false if nothing is mounted there any more. */
static bool find_part(const mcp_server *server, uint64_t name, uint32_t *ret)
{
    for (uint32_t part = 0; part <= server->n_mounts; part++) {
        if (name_of_part(server, part) == name) {
            *ret = part;
            return true;
        }
    }
    return false;
}

/* Reads the cursor, which says where the page begins. */
static int read_cursor(mcp_request *req)
{
    const mcp_json *value = mcp_json_get(req->in.message.params, "cursor");
    if (!value)
        return MCP_OK;
    if (!mcp_json_is(value, MCP_JSON_STRING))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"cursor\" must be a string");
    mcp_str token = mcp_json_string(value);
    char *room = mcp_request_alloc(req, token.len + 1);
    mcp__cursor cursor;
    if (!room)
        return MCP_ENOMEM;
    bool sealed = open_cursor(req, &token);
    if (req->reply.failed)
        return req->reply.failed;
    if (!mcp__read_cursor(token, (uint8_t)req->method->lists, mcp__request_binding(req), room,
                          &cursor) ||
        !find_part(req->server, cursor.part, &req->page.part) ||
        (!sealed && is_sealed(req, req->page.part)))
        return bad_cursor(req);
    req->page.position = cursor.position;
    return MCP_OK;
}

static int set_next(mcp_request *req, mcp_str position)
{
    req->page.next = mcp__request_copy(req, position);
    req->page.has_next = true;
    return req->reply.failed;
}

static int add_registered(mcp_request *req)
{
    const mcp__registry *r = &req->server->registry[req->method->lists];
    uint64_t after = 0;
    if (req->page.position.len == sizeof(after))
        memcpy(&after, req->page.position.ptr, sizeof(after));
    else if (req->page.position.len)
        return bad_cursor(req);
    size_t at = mcp__registry_after(r, after);
    unsigned form = mcp__revision_index(req->revision);
    mcp__buf *b = mcp__reply_begin(req);
    const mcp_identity *identity = mcp_request_identity(req);
    for (; at < r->count && req->page.room; at++) {
        after = r->items[at]->sequence;
        if (!mcp__may_list(req->server, identity, r->items[at]) ||
            !mcp__entry_offered(r->items[at], req))
            continue;
        if (req->reply.count++)
            mcp__buf_char(b, ',');
        mcp__buf_str(b, r->items[at]->rendered[form]);
        req->page.room--;
    }
    if (at < r->count)
        return set_next(req, (mcp_str){(const char *)&after, sizeof(after)});
    return MCP_OK;
}

/* Returns whether the list includes a mount. */
static bool includes(const mcp_request *req, const mcp__mount *mount)
{
    const mcp_channel *channel = req->in.channel;
    if (mcp__left_out_skips(req, mount))
        return false;
    if (req->method->lists != MCP__RESOURCES)
        return mount->provider.list_items && mcp__mount_has(mount, req->method->lists);
    if (!mount->provider.list)
        return false;
    return !channel || !channel->options.list_mount ||
           channel->options.list_mount(mount->prefix, channel->options.user);
}

static const mcp_item items[MCP__KINDS] = {MCP_ITEM_RESOURCE, MCP_ITEM_TEMPLATE, MCP_ITEM_PROMPT,
                                           MCP_ITEM_TOOL};

static bool begins(const mcp_request *req, const mcp__mount *mount)
{
    const mcp_provider *p = &mount->provider;
    return p->list_begin && p->list_end && includes(req, mount) &&
           !mcp__left_out_at_once(req, mount);
}

/* Lets the providers from this part on work at the same time, if there are several. */
static void begin_parts(mcp_request *req)
{
    const mcp_server *server = req->server;
    size_t n = 0;
    for (size_t i = req->page.part - 1; i < server->n_mounts; i++)
        n += begins(req, server->mounts[i]);
    if (n < 2 || req->page.begun)
        return;
    req->page.begun = mcp_request_alloc(req, n * sizeof(struct mcp__mount *));
    for (size_t i = req->page.part - 1; req->page.begun && i < server->n_mounts; i++) {
        mcp__mount *mount = server->mounts[i];
        if (!begins(req, mount))
            continue;
        req->page.begun[req->page.n_begun++] = mount;
        mount->provider.list_begin(req, items[req->method->lists], mount->user);
    }
}

void mcp__end_list(mcp_request *req)
{
    for (size_t i = 0; i < req->page.n_begun; i++) {
        const mcp__mount *mount = req->page.begun[i];
        mount->provider.list_end(req, mount->user);
    }
    req->page.begun = NULL;
    req->page.n_begun = 0;
}

/* ---- providers that fail --------------------------------------------------------------------- */

static void save_reply(mcp_request *req)
{
    mcp__reply *reply = &req->reply;
    req->page.before.out = mcp__reply_begin(req)->len;
    req->page.before.count = reply->count;
    req->page.before.room = req->page.room;
    req->page.before.extra = reply->extra.text.len;
    req->page.before.extra_names = reply->extra.names;
    req->page.before.meta = reply->meta.text.len;
    req->page.before.meta_names = reply->meta.names;
}

static void cut_members(mcp__members *set, size_t len, mcp__member *names)
{
    set->text.len = len;
    set->text.failed = MCP_OK;
    set->names = names;
}

/* Removes what the provider has added. */
static void restore_reply(mcp_request *req)
{
    mcp__reply *reply = &req->reply;
    req->error = (mcp__reply_error){0};
    reply->failed = reply->out.failed = MCP_OK;
    reply->out.len = req->page.before.out;
    reply->count = req->page.before.count;
    cut_members(&reply->extra, req->page.before.extra, req->page.before.extra_names);
    cut_members(&reply->meta, req->page.before.meta, req->page.before.meta_names);
    req->page.room = req->page.before.room;
    req->page.has_next = false;
}

/* Returns the last word of a prefix: "h" of "git://h/". The name of the provider may be a path. */
static mcp_str name_of(mcp_request *req, const mcp__mount *mount)
{
    const char *end = mount->prefix + strlen(mount->prefix);
    while (end > mount->prefix && strchr("/:", end[-1]))
        end--;
    const char *begin = end;
    while (begin > mount->prefix && !strchr("/:", begin[-1]))
        begin--;
    return mcp__request_copy(req, (mcp_str){begin, (size_t)(end - begin)});
}

static int add_placeholder(mcp_request *req, const mcp__mount *mount)
{
    if (req->method->lists != MCP__RESOURCES || !*mount->prefix || !req->page.room)
        return MCP_OK;
    mcp_str name = name_of(req, mount);
    if (!name.ptr)
        return MCP_ENOMEM;
    int rc = mcp__put_placeholder(req, mount->prefix, name.ptr);
    return rc == MCP_EINVAL ? MCP_OK : rc;
}

/* Returns whether the list has no other parts, and the failure is either the answer of another server,
 * which is forwarded as any other answer, or that of a source without a prefix, for which no entry
 * could stand: an empty list would say that there is nothing. */
static bool is_forwarded(const mcp_request *req, const mcp__mount *mount)
{
    const mcp_server *server = req->server;
    bool passed = req->error.passed && mount->provider.list_items;
    bool only = (passed || !*mount->prefix) && !server->registry[req->method->lists].count;
    for (size_t i = 0; only && i < server->n_mounts; i++)
        only = server->mounts[i] == mount || !includes(req, server->mounts[i]);
    return only;
}

/* Returns whether a failure ends the whole list: memory or descriptors are used up, or the caller has
 * to do something about it. A trusted parent does without the source itself. */
static bool ends_list(const mcp_request *req, const mcp__mount *mount, int rc)
{
    const mcp_channel *channel = req->in.channel;
    return rc == MCP_ENOMEM || rc == MCP_EFILES || rc == MCP_ECANCELLED || rc == MCP_ECLOSED ||
           req->cancelled || !channel || channel->closed || channel->options.trusted_parent ||
           req->in.scopes || is_forwarded(req, mount);
}

static int leave_out(mcp_request *req, mcp__mount *mount, int rc)
{
    mcp_str why = req->error.message;
    if (!why.ptr)
        why = rc == MCP_ELIMIT ? MCP_STR("its entries are larger than max_reply")
                               : mcp_str_from(mcp_error_text(rc));
    restore_reply(req);
    mcp__leave_out(req, mount, why, false);
    return add_placeholder(req, mount);
}

static bool is_bad_cursor(const mcp_request *req, int rc)
{
    if (!req->page.position.len || req->reply.failed)
        return false;
    return req->error.code ? req->error.code == MCP__INVALID_PARAMS : rc == MCP_EINVAL;
}

/* Acts on the outcome of a provider. */
static int settle(mcp_request *req, mcp__mount *mount, int rc)
{
    if (rc == MCP_PENDING)
        return rc;
    if (rc >= 0 && req->reply.failed)
        rc = req->reply.failed;
    if (is_bad_cursor(req, rc)) {
        mcp__listed(req, mount);
        return req->error.code ? rc : bad_cursor(req);
    }
    if (rc >= 0 && !req->error.code) {
        mcp__listed(req, mount);
        return rc;
    }
    return ends_list(req, mount, rc) ? rc : leave_out(req, mount, rc);
}

static int add_mounted(mcp_request *req, mcp__mount *mount)
{
    const mcp__page *page = &req->page;
    mcp__kind kind = req->method->lists;
    if (!includes(req, mount))
        return MCP_OK;
    if (!page->position.len)
        begin_parts(req);
    save_reply(req);
    if (req->reply.out.failed)
        return req->reply.out.failed;
    if (mcp__left_out_at_once(req, mount)) {
        mcp__leave_out(req, mount, (mcp_str){0}, true);
        return add_placeholder(req, mount);
    }
    mcp__deadline_stop(req); /* each provider has its own time */
    mcp__trace_source(req, mount);
    int rc =
        kind == MCP__RESOURCES
            ? mount->provider.list(req, page->position, page->room, mount->user)
            : mount->provider.list_items(req, items[kind], page->position, page->room, mount->user);
    if (rc == MCP_PENDING && req->finish.called) {
        req->finish.called = false;
        rc = req->finish.outcome;
    }
    return settle(req, mount, rc);
}

static int add_part(mcp_request *req)
{
    return req->page.part == 0 ? add_registered(req)
                               : add_mounted(req, req->server->mounts[req->page.part - 1]);
}

/* Returns whether there may be entries in parts from req->page.part on. */
static bool more_parts(const mcp_request *req, size_t parts)
{
    for (size_t part = req->page.part; part < parts; part++) {
        if (part == 0 || includes(req, req->server->mounts[part - 1]))
            return true;
    }
    return false;
}

/* Fills the page with the parts from req->page.part on. */
static int add_parts(mcp_request *req)
{
    size_t parts = 1 + req->server->n_mounts;
    while (more_parts(req, parts)) {
        req->page.name = name_of_part(req->server, req->page.part);
        if (req->page.room == 0) {
            req->page.has_next = true; /* the next part has not been read yet */
            req->page.next = (mcp_str){"", 0};
            break;
        }
        int rc = add_part(req);
        if (rc != MCP_OK || req->page.has_next)
            return rc;
        req->page.part++;
        req->page.position = (mcp_str){0};
    }
    return MCP_OK;
}

int mcp__run_list(mcp_request *req)
{
    int rc = read_cursor(req);
    if (rc != MCP_OK)
        return rc;
    int64_t wanted = mcp_json_int(mcp_json_get(req->caller, "pageSize"), 0);
    size_t limit = wanted > 0 ? (size_t)wanted : req->in.channel->options.page_size;
    req->page.room = req->server->options.page_size;
    if (limit && limit < req->page.room)
        req->page.room = limit;
    if (mcp__left_out_begins(req) && !req->page.part)
        return MCP_OK; /* the mount is gone */
    return add_parts(req);
}

int mcp__resume_list(mcp_request *req, int outcome)
{
    /* A rebuild may have changed the mounts. If this one is gone, the list ends here; the peer
     * learns of the change. */
    bool found = find_part(req->server, req->page.name, &req->page.part);
    int rc = found ? settle(req, req->server->mounts[req->page.part - 1], outcome) : outcome;
    if (rc != MCP_OK || req->page.has_next || !found)
        return rc;
    req->page.part++;
    req->page.position = (mcp_str){0};
    return add_parts(req);
}

/* The provider has the request until it ends it. So the answer is sent now, and continues with the
 * next part in the next page. */
void mcp__list_late(mcp_request *req)
{
    mcp_server *server = req->server;
    size_t parts = 1 + server->n_mounts;
    bool found = find_part(server, req->page.name, &req->page.part);
    char why[100];
    restore_reply(req);
    if (found) {
        mcp__mount *mount = server->mounts[req->page.part - 1];
        snprintf(why, sizeof(why), "it did not answer within %" PRIu64 " ms (list_ms)",
                 server->options.list_ms);
        if (req->build == server->build)
            mcp__left_out_running(req, mount);
        mcp__leave_out(req, mount, mcp_str_from(why), true);
        (void)add_placeholder(req, mount);
        req->page.part++;
        req->page.name = req->page.part < parts ? name_of_part(server, req->page.part) : 0;
        req->page.has_next = more_parts(req, parts);
        req->page.next = (mcp_str){"", 0};
    }
    mcp__end_list(req);
    mcp__reply_send_early(req);
}

void mcp__list_tail(mcp_request *req, mcp__buf *b)
{
    mcp__put_left_out(req);
    if (!req->page.has_next)
        return;
    mcp__cursor cursor = {
        .list = (uint8_t)req->method->lists, .part = req->page.name, .position = req->page.next};
    uint32_t part = 0; /* a rebuild may have moved it, or removed it */
    (void)find_part(req->server, cursor.part, &part);
    mcp__buf_lit(b, ",\"nextCursor\":");
    if (is_sealed(req, part))
        put_sealed(req, b, &cursor);
    else
        mcp__put_cursor(b, &cursor, mcp__request_binding(req));
}

/* ---- calls for providers -------------------------------------------------------------------- */

int mcp_reply_resource(mcp_request *req, const mcp_resource *resource)
{
    if (req->reply.failed || req->error.code)
        return req->reply.failed ? req->reply.failed : MCP_ESTATE;
    if (req->method->form != MCP__FORM_ENTRIES || req->method->lists != MCP__RESOURCES)
        return req->reply.failed = MCP_ESTATE;
    if (req->cancelled || !req->in.channel)
        return MCP_OK;
    if (req->page.room == 0)
        return MCP_ELIMIT;
    mcp_resource r;
    if (MCP__TAKE(&r, resource, mcp_resource, NULL) != MCP_OK)
        return req->reply.failed = MCP_EINVAL;
    if (req->server->access.may && !mcp__access_list(req, MCP_ITEM_RESOURCE, mcp_str_from(r.uri)))
        return MCP_OK;
    if (req->server->resource_hook)
        req->server->resource_hook(&r, req->server->resource_hook_user);
    mcp__buf *b = mcp__reply_begin(req);
    size_t mark = b->len;
    if (req->reply.count)
        mcp__buf_char(b, ',');
    mcp__object o = mcp__object_begin(b, req->revision);
    mcp__object_entry(&o, MCP_ITEM_RESOURCE, &r);
    mcp__object_end(&o);
    if (b->failed == MCP_EINVAL) {
        /* An entry that is not valid UTF-8 is skipped; the rest of the page stays valid. */
        b->failed = MCP_OK;
        b->len = mark;
        return MCP_EINVAL;
    }
    req->reply.count++;
    req->page.room--;
    req->reply.failed = b->failed;
    return b->failed;
}

int mcp_reply_without(mcp_request *req, const char *uri, const char *name)
{
    uint32_t part = 0; /* a rebuild may have moved it, or removed it */
    if (!uri || !name)
        return MCP_EINVAL;
    int rc = mcp__put_placeholder(req, uri, name);
    if (rc == MCP_OK && find_part(req->server, req->page.name, &part) && part)
        mcp__without(req, req->server->mounts[part - 1], mcp_str_from(uri));
    return rc;
}

int mcp_reply_next(mcp_request *req, mcp_str cursor)
{
    if (cursor.len == 0)
        return MCP_EINVAL; /* an empty cursor means the beginning, so the list would never end */
    if (cursor.len > MCP__CURSOR_MAX_POSITION)
        return MCP_ELIMIT;
    return set_next(req, cursor);
}
