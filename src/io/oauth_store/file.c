/* file.c: reads and replaces the file of records.
 *
 *     {"version":1,"records":{KEY:RECORD,…}}
 *
 * Members that this version does not know are kept. A file that cannot be understood is never
 * replaced. The new file is complete on the disk before it gets the name of the old one.
 */
#define _GNU_SOURCE
#include "io/oauth_store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mcp/sys/json.h>
#include <unistd.h>

#include "json/json.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* The contents of the file. `records` is NULL if there is no file. */
typedef struct contents {
    mcp__buf text;
    mcp_json_doc *doc;
    const mcp_json *records;
} contents;

static void contents_free(contents *c)
{
    mcp__json_wipe(c->doc);
    mcp__buf_wipe(&c->text);
}

static int read_all(const mcp__records *r, int fd, mcp__buf *to, mcp_error *error)
{
    for (;;) {
        char *at = mcp__buf_reserve(to, 16384);
        ssize_t n = at ? read(fd, at, 16384) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return mcp__records_fail(r, error, "read");
        if (to->failed == MCP_ELIMIT)
            return mcp__records_refuse(r, error, MCP_ELIMIT, "is too large");
        if (to->failed || n == 0)
            return to->failed;
        to->len += (size_t)n;
    }
}

static int parse(const mcp__records *r, contents *c, mcp_error *error)
{
    mcp_error why = {0};
    char text[160];
    int rc = mcp_json_parse(mcp__buf_view(&c->text), NULL, r->allocator, &c->doc, &why);

    if (rc == MCP_ENOMEM)
        return rc;
    if (rc != MCP_OK) {
        snprintf(text, sizeof(text), "is damaged (byte %zu: %.90s); nothing is changed in it",
                 why.offset, why.text);
        return mcp__records_refuse(r, error, MCP_EPARSE, text);
    }
    const mcp_json *root = mcp_json_root(c->doc);
    int64_t version = mcp_json_int(mcp_json_get(root, "version"), 0);
    if (version > MCP__RECORDS_VERSION)
        return mcp__records_refuse(r, error, MCP_EUNSUPPORTED, "was written by a later version");
    c->records = mcp_json_get(root, "records");
    if (version != MCP__RECORDS_VERSION || !mcp_json_is(c->records, MCP_JSON_OBJECT))
        return mcp__records_refuse(r, error, MCP_EPARSE,
                                   "is not a file of logins; nothing is changed in it");
    return MCP_OK;
}

/* Reads the file in an open folder. A file that does not exist gives MCP_ENOTFOUND. */
static int read_contents(const mcp__records *r, int folder, contents *c, mcp_error *error)
{
    struct stat s;
    int fd = openat(folder, r->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0 && errno == ENOENT)
        return MCP_ENOTFOUND;
    if (fd < 0 && errno == ELOOP)
        return mcp__records_refuse(r, error, MCP_EACCESS, "has become a link");
    if (fd < 0)
        return mcp__records_fail(r, error, "opened");
    int rc = mcp__records_check(r, fd, &s, error);
    mcp__buf_init(&c->text, r->allocator, MCP__RECORDS_MAX_BYTES);
    if (rc == MCP_OK)
        rc = read_all(r, fd, &c->text, error);
    close(fd);
    return rc == MCP_OK ? parse(r, c, error) : rc;
}

/* Returns the text of a member of the root. */
static mcp_str text_of_records(const contents *c)
{
    const mcp_json *root = mcp_json_root(c->doc);
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, value = {0};

    while (mcp_json_next(root, &it, &key) &&
           mcp_json_text_next(mcp__buf_view(&c->text), &texts, NULL, &value))
        if (mcp_str_eq(key, MCP_STR("records")))
            return value;
    return (mcp_str){0};
}

/* Calls give() for each record; stops if `key` is found. */
static int visit(const contents *c, const char *key, mcp__record_fn *give, void *arg)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str all = text_of_records(c), name, value;
    int rc = key ? MCP_ENOTFOUND : MCP_OK;

    while (rc != MCP_OK || !key) {
        if (!mcp_json_next(c->records, &it, &name) ||
            !mcp_json_text_next(all, &texts, NULL, &value))
            break;
        if (key && !mcp_str_eq(name, mcp_str_from(key)))
            continue;
        give(arg, name, value);
        rc = MCP_OK;
    }
    return rc;
}

int mcp__records_load(const mcp__records *r, const char *key, mcp__record_fn *give, void *arg,
                      mcp_error *error)
{
    contents c = {0};
    int folder;

    mcp__no_error(error);
    int rc = mcp__records_open_folder(r, false, &folder, error);
    if (rc == MCP_OK) {
        rc = read_contents(r, folder, &c, error);
        close(folder);
    }
    if (rc == MCP_OK)
        rc = visit(&c, key, give, arg);
    contents_free(&c);
    return rc == MCP_ENOTFOUND && !key ? MCP_OK : rc;
}

/* ---- replacing ------------------------------------------------------------------------------- */

/* Copies the records except one, and adds that one. */
static void write_records(mcp_json_writer *w, const contents *c, mcp_str key, mcp_str record)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str all = text_of_records(c), name, value;

    mcp_json_begin_object(w);
    while (mcp_json_next(c->records, &it, &name) && mcp_json_text_next(all, &texts, NULL, &value)) {
        if (mcp_str_eq(name, key))
            continue;
        mcp_json_key_str(w, name);
        mcp_json_add_text(w, value);
    }
    if (record.len) {
        mcp_json_key_str(w, key);
        mcp_json_add_text(w, record);
    }
    mcp_json_end(w);
}

static void write_contents(mcp_json_writer *w, const contents *c, mcp_str key, mcp_str record)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str name, value;

    mcp_json_begin_object(w);
    mcp_json_put_int(w, "version", MCP__RECORDS_VERSION);
    mcp_json_key(w, "records"), write_records(w, c, key, record);
    while (mcp_json_next(mcp_json_root(c->doc), &it, &name) &&
           mcp_json_text_next(mcp__buf_view(&c->text), &texts, NULL, &value)) {
        if (mcp_str_eq(name, MCP_STR("version")) || mcp_str_eq(name, MCP_STR("records")))
            continue;
        mcp_json_key_str(w, name);
        mcp_json_add_text(w, value);
    }
    mcp_json_end(w);
}

static int write_all(int fd, mcp_str text)
{
    while (text.len) {
        ssize_t n = write(fd, text.ptr, text.len);
        if (n < 0 && errno != EINTR)
            return -1;
        if (n == 0) {
            errno = EIO;
            return -1;
        }
        if (n > 0)
            text = (mcp_str){text.ptr + n, text.len - (size_t)n};
    }
    return fsync(fd);
}

/* Writes the text to a new file and gives it the name of the old one. The lock on the file is held,
 * so a new file that exists already was left behind by a process that ended. */
static int replace(const mcp__records *r, int folder, mcp_str text, mcp_error *error)
{
    char name[NAME_MAX + 1];
    int rc = MCP_OK;

    if (snprintf(name, sizeof(name), "%s.new", r->name) >= (int)sizeof(name))
        return mcp__records_refuse(r, error, MCP_EINVAL, "has a name that is too long");
    unlinkat(folder, name, 0);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return mcp__records_fail(r, error, "replaced");
    if (write_all(fd, text) != 0)
        rc = mcp__records_fail(r, error, "written");
    if (close(fd) != 0 && rc == MCP_OK && errno != EINTR)
        rc = mcp__records_fail(r, error, "written");
    if (rc == MCP_OK && renameat(folder, name, folder, r->name) != 0)
        rc = mcp__records_fail(r, error, "replaced");
    if (rc != MCP_OK)
        unlinkat(folder, name, 0);
    else
        (void)fsync(folder); /* the file is complete in any case, the old one or the new one */
    return rc;
}

static int change(const mcp__records *r, int folder, const char *key, mcp_str record,
                  mcp_error *error)
{
    contents c = {0};
    mcp_str text = {0};
    int rc = read_contents(r, folder, &c, error);
    bool none = rc == MCP_ENOTFOUND;

    if (none && !record.len) {
        contents_free(&c);
        return MCP_OK;
    }
    mcp_json_writer *w = NULL;
    if (rc == MCP_OK || none) {
        w = mcp_json_writer_new(r->allocator, MCP__RECORDS_MAX_BYTES);
        write_contents(w, &c, mcp_str_from(key), record);
        rc = mcp_json_writer_finish(w, &text);
        if (rc == MCP_ELIMIT)
            rc = mcp__records_refuse(r, error, rc, "would become too large");
    }
    if (rc == MCP_OK)
        rc = replace(r, folder, text, error);
    mcp__wipe((void *)(uintptr_t)text.ptr, text.len);
    mcp_json_writer_free(w);
    contents_free(&c);
    return rc;
}

static int check_record(const mcp__records *r, mcp_str record, mcp_error *error)
{
    mcp_json_doc *doc = NULL;

    if (!record.len)
        return MCP_OK;
    if (record.len > MCP__RECORD_MAX_BYTES)
        return mcp__fail(error, MCP_ELIMIT, 0, "the record of a login is too large");
    int rc = mcp_json_parse(record, NULL, r->allocator, &doc, error);
    mcp__json_wipe(doc);
    return rc;
}

int mcp__records_save(const mcp__records *r, const char *key, mcp_str record, mcp_error *error)
{
    int lock = -1, folder = -1;

    mcp__no_error(error);
    int rc = check_record(r, record, error);
    if (rc == MCP_OK)
        rc = mcp__records_lock(r, &lock, error);
    if (rc == MCP_OK)
        rc = mcp__records_open_folder(r, true, &folder, error);
    if (rc == MCP_OK) {
        rc = change(r, folder, key, record, error);
        close(folder);
    }
    if (lock >= 0)
        close(lock);
    return rc == MCP_ENOMEM ? mcp__fail(error, rc, 0, "%s", mcp_error_text(rc)) : rc;
}
