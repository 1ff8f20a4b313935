/* objects.c: implements store.h for objects: reads and parses them. */
#define _GNU_SOURCE
#include "reader.h"
#include "store.h"

#include <time.h>

enum { NEAR_BUDGET = 256 << 10, MAX_TAGS = 16 };

int64_t repo_use_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int repo_use_begin(repo_use *u, repo_layout *l, const mcp_request *req, bool near,
                   uint64_t timeout_ms)
{
    *u = (repo_use){.layout = l, .req = req, .near = near, .budget = NEAR_BUDGET};
    u->deadline = repo_use_now() + (int64_t)timeout_ms;
    repo_odb o = repo_layout_borrow(l);
    u->odb = o.odb;
    u->reader = o.reader;
    if (o.reader)
        o.reader->use = o.reader->inflate.use = u;
    return u->odb ? MCP_OK : MCP_ENOMEM;
}

void repo_use_end(repo_use *u)
{
    if (u->reader)
        u->reader->use = u->reader->inflate.use = NULL;
    repo_layout_return(u->layout, (repo_odb){u->odb, u->reader});
    u->odb = NULL;
    u->reader = NULL;
}

int repo_use_check(const repo_use *u)
{
    if (u->req && mcp_request_cancelled(u->req))
        return MCP_ECANCELLED;
    return repo_use_now() > u->deadline ? MCP_ETIMEOUT : MCP_OK;
}

/* Maps an error of libgit2. The reader's outcome is more precise. If it is MCP_OK, libgit2 found a
 * wrong hash or ran out of memory itself; both become MCP_EIO. */
static int code_of(repo_use *u, int git)
{
    int outcome = u->reader ? u->reader->outcome : MCP_OK;
    if (outcome == MCP_EFILES) /* not "not found", so that the request is retried */
        return outcome;
    if (git == GIT_ENOTFOUND || git == GIT_EAMBIGUOUS)
        return MCP_ENOTFOUND;
    if (outcome == MCP_OK || outcome == MCP_ENOTFOUND || outcome == MCP_EACCESS)
        return MCP_EIO;
    if (outcome == MCP_ELIMIT)
        u->too_large = u->reader->too_large;
    return outcome;
}

int repo_object(repo_use *u, const git_oid *id, git_object_t type, git_odb_object **ret)
{
    if (u->reader)
        u->reader->outcome = MCP_OK;
    int rc = git_odb_read(ret, u->odb, id);
    if (rc < 0)
        return code_of(u, rc);
    size_t size = git_odb_object_size(*ret);
    if (type != GIT_OBJECT_ANY && git_odb_object_type(*ret) != type)
        rc = MCP_ENOTFOUND;
    else if (u->near && size > u->budget)
        rc = MCP_PENDING;
    u->budget -= u->near && rc == MCP_OK ? size : 0;
    if (rc == MCP_OK)
        return rc;
    git_odb_object_free(*ret);
    *ret = NULL;
    return rc;
}

int repo_object_header(repo_use *u, const git_oid *id, git_object_t *type, size_t *size)
{
    if (u->reader)
        u->reader->outcome = MCP_OK;
    int rc = git_odb_read_header(size, type, u->odb, id);
    return rc < 0 ? code_of(u, rc) : MCP_OK;
}

int repo_object_by_prefix(repo_use *u, const git_oid *prefix, size_t digits, git_oid *ret)
{
    if (u->reader)
        u->reader->outcome = MCP_OK;
    int rc = git_odb_exists_prefix(ret, u->odb, prefix, digits);
    return rc < 0 ? code_of(u, rc) : MCP_OK;
}

int repo_blob_size(repo_use *u, const git_oid *id, size_t *ret)
{
    git_object_t type;
    int rc = repo_object_header(u, id, &type, ret);
    if (rc == MCP_ENOTFOUND)
        return MCP_EIO; /* another object refers to it, so the repository is damaged */
    return rc == MCP_OK && type != GIT_OBJECT_BLOB ? MCP_EIO : rc;
}

mcp_str repo_object_text(git_odb_object *o)
{
    return (mcp_str){git_odb_object_data(o), git_odb_object_size(o)};
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* Normalizes modes that old versions of git wrote, such as 100664 and 040755. */
static unsigned todays_mode(unsigned mode)
{
    switch (mode & 0170000) {
    case REPO_MODE_TREE: return REPO_MODE_TREE;
    case REPO_MODE_LINK: return REPO_MODE_LINK;
    case 0100000: return mode & 0100 ? 0100755 : 0100644;
    default: return REPO_MODE_COMMIT;
    }
}

bool repo_tree_next(mcp_str *rest, repo_entry *ret)
{
    size_t i = 0;
    unsigned mode = 0;
    while (i < rest->len && i < 7 && rest->ptr[i] >= '0' && rest->ptr[i] <= '7')
        mode = mode * 8 + (unsigned)(rest->ptr[i++] - '0');
    if (!i || i >= rest->len || rest->ptr[i] != ' ')
        return false;
    const char *name = rest->ptr + i + 1;
    const char *end = memchr(name, 0, rest->len - i - 1);
    if (!end || end == name || rest->len - (size_t)(end - rest->ptr) < 1 + GIT_OID_RAWSZ)
        return false;
    ret->mode = todays_mode(mode);
    ret->name = (mcp_str){name, (size_t)(end - name)};
    memcpy(ret->id.id, end + 1, GIT_OID_RAWSZ);
    size_t used = (size_t)(end - rest->ptr) + 1 + GIT_OID_RAWSZ;
    *rest = (mcp_str){rest->ptr + used, rest->len - used};
    return true;
}

int repo_entry_compare(mcp_str a, bool a_tree, mcp_str b, bool b_tree)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;
    if (order)
        return order;
    unsigned char x = a.len > n ? (unsigned char)a.ptr[n] : a_tree ? '/' : 0;
    unsigned char y = b.len > n ? (unsigned char)b.ptr[n] : b_tree ? '/' : 0;
    return (x > y) - (x < y);
}

static int find_one(repo_use *u, const git_oid *tree, mcp_str name, repo_entry *ret)
{
    git_odb_object *o;
    repo_entry e;
    int rc = repo_object(u, tree, GIT_OBJECT_TREE, &o);
    if (rc != MCP_OK)
        return rc == MCP_ENOTFOUND ? MCP_EIO : rc; /* another object refers to it, so the
                                                    * repository is damaged */
    mcp_str rest = repo_object_text(o);
    rc = MCP_ENOTFOUND;
    while (rc != MCP_OK && repo_tree_next(&rest, &e))
        if (mcp_str_eq(e.name, name)) {
            *ret = e;
            ret->name = name;
            rc = MCP_OK;
        }
    if (rc == MCP_ENOTFOUND && rest.len)
        rc = MCP_EIO;
    git_odb_object_free(o);
    return rc;
}

int repo_tree_find(repo_use *u, const git_oid *tree, mcp_str path, repo_entry *ret)
{
    int rc = MCP_OK;
    repo_entry at = {.mode = REPO_MODE_TREE, .name = {"", 0}, .id = *tree};
    while (rc == MCP_OK && path.len) {
        const char *slash = memchr(path.ptr, '/', path.len);
        mcp_str name = {path.ptr, slash ? (size_t)(slash - path.ptr) : path.len};
        git_oid id = at.id;
        rc = at.mode == REPO_MODE_TREE ? find_one(u, &id, name, &at) : MCP_ENOTFOUND;
        size_t used = name.len + (slash != NULL);
        path = (mcp_str){path.ptr + used, path.len - used};
    }
    if (rc == MCP_OK)
        *ret = at;
    return rc;
}

/* ---- commits and tags ------------------------------------------------------------------------ */

/* Removes a line "KEY VALUE\n" from the beginning of *rest. */
static bool take_line(mcp_str *rest, const char *key, mcp_str *value)
{
    size_t len = strlen(key);
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    if (!end || (size_t)(end - rest->ptr) < len || memcmp(rest->ptr, key, len) != 0)
        return false;
    *value = (mcp_str){rest->ptr + len, (size_t)(end - rest->ptr) - len};
    rest->len -= (size_t)(end + 1 - rest->ptr);
    rest->ptr = end + 1;
    return true;
}

static bool take_id(mcp_str *rest, const char *key, git_oid *id)
{
    mcp_str hex, from = *rest;
    char text[GIT_OID_HEXSZ + 1];
    if (!take_line(&from, key, &hex) || hex.len != GIT_OID_HEXSZ)
        return false;
    memcpy(text, hex.ptr, GIT_OID_HEXSZ);
    text[GIT_OID_HEXSZ] = 0;
    if (git_oid_fromstr(id, text) < 0)
        return false;
    *rest = from;
    return true;
}

/* Parses "NAME <EMAIL> SECONDS +HHMM". Missing parts stay empty. */
static void parse_person(mcp_str line, repo_person *p)
{
    *p = (repo_person){.name = line, .email = {"", 0}};
    const char *close = line.len ? memrchr(line.ptr, '>', line.len) : NULL;
    const char *open = close ? memchr(line.ptr, '<', (size_t)(close - line.ptr)) : NULL;
    if (!open)
        return;
    p->name.len = (size_t)(open - line.ptr);
    while (p->name.len && p->name.ptr[p->name.len - 1] == ' ')
        p->name.len--;
    p->email = (mcp_str){open + 1, (size_t)(close - open) - 1};
    const char *at = close + 1, *end = line.ptr + line.len;
    while (at < end && *at == ' ')
        at++;
    for (size_t n = 0; at < end && *at >= '0' && *at <= '9' && n < 14; at++, n++)
        p->time = p->time * 10 + (*at - '0');
    if (end - at < 6 || at[0] != ' ' || (at[1] != '+' && at[1] != '-'))
        return;
    int n = 0;
    for (size_t i = 2; i < 6; i++)
        n = n * 10 + (at[i] >= '0' && at[i] <= '9' ? at[i] - '0' : 0);
    n = n / 100 * 60 + n % 100;
    p->offset = at[1] == '-' ? -n : n;
}

bool repo_commit_parse(mcp_str text, repo_commit *c)
{
    enum { ENCODING = sizeof("encoding ") - 1 };
    git_oid parent;
    mcp_str line;
    if (!take_id(&text, "tree ", &c->tree))
        return false;
    c->parents = text.ptr;
    for (c->n_parents = 0; take_id(&text, "parent ", &parent); c->n_parents++)
        ;
    if (c->n_parents > REPO_PARENTS || !take_line(&text, "author ", &line))
        return false;
    parse_person(line, &c->author);
    if (!take_line(&text, "committer ", &line))
        return false;
    parse_person(line, &c->committer);
    c->encoding = (mcp_str){"", 0};
    while (take_line(&text, "", &line) && line.len) /* signatures are skipped */
        if (!c->encoding.len && line.len > ENCODING && memcmp(line.ptr, "encoding ", ENCODING) == 0)
            c->encoding = (mcp_str){line.ptr + ENCODING, line.len - ENCODING};
    c->message = text;
    return true;
}

git_oid repo_commit_parent(const repo_commit *c, size_t i)
{
    enum { KEY = sizeof("parent ") - 1 };
    char hex[GIT_OID_HEXSZ + 1];
    git_oid id;
    memcpy(hex, c->parents + i * (KEY + GIT_OID_HEXSZ + 1) + KEY, GIT_OID_HEXSZ);
    hex[GIT_OID_HEXSZ] = 0;
    (void)git_oid_fromstr(&id, hex); /* was validated when the commit was parsed */
    return id;
}

int repo_commit_read(repo_use *u, const git_oid *id, repo_commit *ret)
{
    int rc = repo_object(u, id, GIT_OBJECT_COMMIT, &ret->object);
    if (rc != MCP_OK)
        return rc;
    ret->id = *id;
    ret->decoded = NULL;
    if (repo_commit_parse(repo_object_text(ret->object), ret))
        return MCP_OK;
    git_odb_object_free(ret->object);
    return MCP_EIO;
}

void repo_commit_free(repo_commit *c)
{
    git_odb_object_free(c->object);
    c->object = NULL;
    if (c->decoded)
        common_release(c->alloc, c->decoded);
    c->decoded = NULL;
}

int repo_peel(repo_use *u, git_oid *id, git_object_t *type)
{
    for (int i = 0; i < MAX_TAGS; i++) {
        size_t size;
        git_odb_object *o;
        int rc = repo_object_header(u, id, type, &size);
        if (rc != MCP_OK)
            return rc;
        if (*type != GIT_OBJECT_TAG)
            return MCP_OK;
        if ((rc = repo_object(u, id, GIT_OBJECT_TAG, &o)) != MCP_OK)
            return rc;
        mcp_str text = repo_object_text(o);
        bool ok = take_id(&text, "object ", id);
        git_odb_object_free(o);
        if (!ok)
            return MCP_EIO;
    }
    return MCP_EIO;
}
