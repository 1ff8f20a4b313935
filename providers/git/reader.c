/* reader.c: implements reader.h: the backend for libgit2, and reading loose objects. */
#define _GNU_SOURCE
#include "reader.h"

#include "reader_pack.h"
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { HEAD = 32 }; /* bytes of the longest header of a loose object */

/* ---- limits ---------------------------------------------------------------------------------- */

int repo_reader_allows(repo_reader *r, uint64_t size)
{
    if (size > REPO_OBJECT_MAX) {
        r->too_large = size;
        return MCP_ELIMIT;
    }
    return r->use && r->use->near && size > r->use->budget ? MCP_PENDING : MCP_OK;
}

/* Records the outcome and returns the corresponding code for libgit2. */
static int said(repo_reader *r, int rc)
{
    r->outcome = rc;
    switch (rc) {
    case MCP_OK: return 0;
    case MCP_ENOTFOUND: return GIT_ENOTFOUND;
    case MCP_EEXIST: return GIT_EAMBIGUOUS;
    default: return GIT_ERROR;
    }
}

/* ---- loose objects --------------------------------------------------------------------------- */

typedef struct loose {
    int fd;
    uint64_t size; /* bytes of the file */
    git_object_t type;
    uint64_t length;  /* bytes of the object */
    size_t used, got; /* bytes of `head`: used by the header; inflated in total */
    char head[HEAD];
} loose;

static bool take_length(const char **at, const char *end, uint64_t *ret)
{
    const char *begin = *at;
    for (*ret = 0; *at < end && **at >= '0' && **at <= '9' && *at - begin < 18; ++*at)
        *ret = *ret * 10 + (uint64_t)(**at - '0');
    return *at > begin;
}

/* Parses the header: "TYPE LENGTH" and NUL. */
static bool take_head(loose *o)
{
    static const git_object_t types[] = {GIT_OBJECT_COMMIT, GIT_OBJECT_TREE, GIT_OBJECT_BLOB,
                                         GIT_OBJECT_TAG};
    const char *end = o->head + o->got;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        const char *word = git_object_type2string(types[i]);
        const char *at = o->head + strlen(word);
        if (at >= end || memcmp(o->head, word, strlen(word)) != 0 || *at++ != ' ' ||
            !take_length(&at, end, &o->length) || at == end || *at)
            continue;
        o->type = types[i];
        o->used = (size_t)(at + 1 - o->head);
        return true;
    }
    return false;
}

static int loose_open(repo_reader *r, const git_oid *id, loose *o)
{
    char hex[GIT_OID_HEXSZ + 1], name[GIT_OID_HEXSZ + 2];
    struct stat st;
    int rc = MCP_ENOTFOUND;
    git_oid_tostr(hex, sizeof(hex), id);
    snprintf(name, sizeof(name), "%.2s/%s", hex, hex + 2);
    for (size_t i = 0; rc == MCP_ENOTFOUND && i < r->layout->n_objects; i++)
        rc = repo_layout_open_file(r->layout, i, name, &o->fd, &st);
    if (rc != MCP_OK)
        return rc;
    o->size = (uint64_t)st.st_size;
    rc = repo_inflate_begin(&r->inflate, o->fd, 0, o->size);
    if (rc == MCP_OK)
        rc = repo_inflate_some(&r->inflate, o->head, HEAD, &o->got);
    if (rc == MCP_OK && !take_head(o))
        rc = MCP_EIO;
    if (rc != MCP_OK)
        close(o->fd);
    return rc;
}

/* Inflates the rest, which must have exactly the length given in the header. */
static int loose_fill(repo_reader *r, const loose *o, char *to)
{
    size_t have = o->got - o->used;
    if (have > o->length)
        return MCP_EIO;
    memcpy(to, o->head + o->used, have);
    int rc = repo_inflate_exactly(&r->inflate, to + have, (size_t)o->length - have, true);
    return rc == MCP_OK && repo_inflate_position(&r->inflate) != o->size ? MCP_EIO : rc;
}

static int loose_read(repo_reader *r, const git_oid *id, repo_reading *ret)
{
    loose o;
    int rc = loose_open(r, id, &o);
    if (rc != MCP_OK)
        return rc;
    rc = repo_reader_allows(r, o.length);
    if (rc == MCP_OK)
        rc = repo_reading_alloc(r, ret, o.length, o.type);
    if (rc == MCP_OK)
        rc = loose_fill(r, &o, ret->ptr);
    close(o.fd);
    return rc;
}

static int loose_header(repo_reader *r, const git_oid *id, uint64_t *size, git_object_t *type)
{
    loose o;
    int rc = loose_open(r, id, &o);
    if (rc != MCP_OK)
        return rc;
    close(o.fd);
    *size = o.length;
    *type = o.type;
    return MCP_OK;
}

/* ---- abbreviated ids ------------------------------------------------------------------------- */

typedef struct finding {
    const git_oid *prefix;
    size_t digits;
    git_oid id;
    bool found;
} finding;

static int found(finding *f, const git_oid *id)
{
    if (f->found && !git_oid_equal(&f->id, id))
        return MCP_EEXIST;
    f->found = true;
    f->id = *id;
    return MCP_OK;
}

static int find_loose(const repo_reader *r, size_t place, finding *f)
{
    char hex[GIT_OID_HEXSZ + 1], name[3];
    git_oid id;
    int rc = MCP_OK;
    git_oid_tostr(hex, sizeof(hex), f->prefix);
    snprintf(name, sizeof(name), "%.2s", hex);
    int fd = openat(r->layout->objects[place], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 && repo_layout_is_within(r->layout, fd) ? fdopendir(fd) : NULL;
    const struct dirent *e;
    if (!d) {
        rc = fd < 0 && common_code_of_errno(errno) == MCP_EFILES ? MCP_EFILES : MCP_OK;
        if (fd >= 0)
            close(fd);
        return rc;
    }
    for (size_t n = 1; rc == MCP_OK && (e = readdir(d)); n++) {
        memcpy(hex + 2, e->d_name, strnlen(e->d_name, GIT_OID_HEXSZ - 2));
        if (strlen(e->d_name) == GIT_OID_HEXSZ - 2 && git_oid_fromstr(&id, hex) == 0 &&
            git_oid_ncmp(&id, f->prefix, f->digits) == 0)
            rc = found(f, &id);
        if (rc == MCP_OK && n % 1024 == 0 && r->use)
            rc = r->use->near ? MCP_PENDING : repo_use_check(r->use);
    }
    closedir(d);
    return rc;
}

static int find_packed(const repo_reader *r, size_t i, finding *f)
{
    repo_pack_files files;
    git_oid id;
    int rc = repo_pack_open(r->layout, i, &files);
    if (rc != MCP_OK)
        return rc == MCP_ENOTFOUND || rc == MCP_EIO ? MCP_OK : rc;
    rc = repo_pack_find_prefix(&files, f->prefix, f->digits, &id);
    repo_pack_close(&files);
    if (rc == MCP_OK)
        return found(f, &id);
    return rc == MCP_ENOTFOUND || rc == MCP_EIO ? MCP_OK : rc;
}

static int find_prefix(repo_reader *r, finding *f)
{
    int rc = MCP_OK;
    size_t n = repo_packs_count(r->layout);
    if (r->use && r->use->near && n > REPO_PACKS_OPEN)
        return MCP_PENDING;
    for (size_t i = 0; rc == MCP_OK && i < n; i++)
        rc = find_packed(r, i, f);
    for (size_t i = 0; rc == MCP_OK && i < r->layout->n_objects; i++)
        rc = find_loose(r, i, f);
    return rc == MCP_OK && !f->found ? MCP_ENOTFOUND : rc;
}

/* ---- the callbacks of libgit2 ---------------------------------------------------------------- */

static repo_reader *of(git_odb_backend *backend)
{
    return (repo_reader *)(void *)backend;
}

static int on_read(void **data, size_t *size, git_object_t *type, git_odb_backend *backend,
                   const git_oid *id)
{
    repo_reader *r = of(backend);
    repo_reading got = {0};
    int rc = repo_pack_read(r, id, &got), again;
    if (rc == MCP_ENOTFOUND || rc == MCP_EIO) { /* another copy may exist */
        git_odb_backend_data_free(backend, got.ptr);
        got.ptr = NULL;
        again = loose_read(r, id, &got);
        rc = again == MCP_ENOTFOUND ? rc : again;
    }
    if (rc == MCP_OK) {
        *data = got.ptr;
        *size = got.len;
        *type = got.type;
    } else {
        git_odb_backend_data_free(backend, got.ptr);
    }
    return said(r, rc);
}

static int on_header(size_t *size, git_object_t *type, git_odb_backend *backend, const git_oid *id)
{
    repo_reader *r = of(backend);
    uint64_t length = 0;
    int rc = repo_pack_header(r, id, &length, type), again;
    if (rc == MCP_ENOTFOUND || rc == MCP_EIO) {
        again = loose_header(r, id, &length, type);
        rc = again == MCP_ENOTFOUND ? rc : again;
    }
    *size = length < SIZE_MAX ? (size_t)length : SIZE_MAX;
    return said(r, rc);
}

static int on_exists(git_odb_backend *backend, const git_oid *id)
{
    size_t size;
    git_object_t type;
    return on_header(&size, &type, backend, id) == 0;
}

static int on_exists_prefix(git_oid *ret, git_odb_backend *backend, const git_oid *prefix,
                            size_t digits)
{
    repo_reader *r = of(backend);
    finding f = {.prefix = prefix, .digits = digits};
    if (digits < 4)
        return GIT_EAMBIGUOUS;
    int rc = find_prefix(r, &f);
    if (rc == MCP_OK)
        *ret = f.id;
    return said(r, rc);
}

/* Updates the list of packs. New packs may have appeared during a long read, because git
 * repacked the objects. */
static int on_refresh(git_odb_backend *backend)
{
    repo_reader *r = of(backend);
    int rc = repo_packs_look(r->layout);
    return rc == MCP_OK ? 0 : said(r, rc);
}

static void on_free(git_odb_backend *backend)
{
    repo_reader *r = of(backend);
    mcp_allocator alloc = r->layout->alloc;
    repo_bases_free(r);
    repo_inflate_free(&r->inflate);
    common_release(&alloc, r->chain);
    common_release(&alloc, r);
}

git_odb *repo_reader_odb(repo_layout *l, repo_reader **ret)
{
    static const git_odb_backend backend = {.version = GIT_ODB_BACKEND_VERSION,
                                            .read = on_read,
                                            .read_header = on_header,
                                            .exists = on_exists,
                                            .exists_prefix = on_exists_prefix,
                                            .refresh = on_refresh,
                                            .free = on_free};
    git_odb *odb;
    repo_reader *r = common_alloc(&l->alloc, sizeof(*r));
    if (!r)
        return NULL;
    memset(r, 0, sizeof(*r));
    r->backend = backend;
    r->layout = l;
    repo_inflate_init(&r->inflate, &l->alloc);
    if (git_odb_new(&odb) < 0) {
        on_free(&r->backend);
        return NULL;
    }
    if (git_odb_add_backend(odb, &r->backend, 1) < 0) {
        on_free(&r->backend);
        git_odb_free(odb);
        return NULL;
    }
    *ret = r;
    return odb;
}
