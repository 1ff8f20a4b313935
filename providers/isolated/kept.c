/* kept.c: answers that are kept in this process, because their files are unchanged.
 *
 * An answer is kept only if the process names the files on which it depends (depends.h). The names
 * are asked for when the same request arrives a second time. The answer belongs to the files as
 * they were before and after the process made it, so a second answer with the same names is needed
 * to find out that they were the same: the first one says which files to look at, and the request for
 * the second one must arrive after that. So from the fourth equal request on, the process is not
 * asked. Each time the files are examined again.
 *
 * Requests are equal if the process would get the same params, with the same description of the
 * caller. Callers with access rules are always answered by the process, because it finds out which
 * names to ask about. All answers are forgotten when the process ends.
 *
 * The process is not trusted. It can name only files below its own source, and learns nothing about
 * them: only these files are examined, and no links are followed. If it names too few, its own
 * answers are outdated.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "depends.h"
#include "provider.h"

enum {
    ANSWERS = 64,
    FILES = 16,         /* on which an answer may depend */
    LONGEST = 64 << 10, /* kept answer, in bytes */
    ALL = 1 << 20,      /* bytes of all kept answers */
    ROOM = 4096,        /* for a path */
    /* A file that was changed less than this time ago may change again without a trace, because
     * file systems store times with a resolution of up to a second. */
    YOUNG_S = 2,
};

/* What is compared of a file. There are no gaps between the members. */
typedef struct state {
    uint64_t exists, dev, ino, size, mode;
    int64_t s, ns; /* when it was last changed (st_ctim) */
} state;

typedef struct file {
    char *path;
    state state;
} file;

typedef struct answer {
    uint64_t used;   /* r->kept_clock at the last request */
    uint64_t looked; /* r->kept_clock when `files` were examined */
    bool never;      /* the process names no files, or they may not be relied on */
    file files[FILES];
    size_t n_files;
    char *key; /* the params; NULL if no answer is kept */
    size_t key_len;
    isolated_result result;
} answer;

struct isolated_kept {
    size_t bytes;
    uint64_t numbers[ANSWERS]; /* of the requests; 0 if there is none */
    answer answers[ANSWERS];
};

/* ---- memory ---------------------------------------------------------------------------------- */

void isolated_result_free(isolated_result *result)
{
    mcp_json_free(result->doc);
    if (result->text.ptr)
        common_buffer_free(&result->text);
    *result = (isolated_result){.doc = NULL};
}

static size_t bytes_of(const answer *a)
{
    enum { TIMES = 3 }; /* a parsed value is larger than its text */
    return a->key ? a->key_len + a->result.text.len * TIMES : 0;
}

static void forget_result(isolated *r, answer *a)
{
    r->kept->bytes -= bytes_of(a);
    common_release(&r->alloc, a->key);
    a->key = NULL;
    isolated_result_free(&a->result);
}

static void forget_files(const isolated *r, answer *a)
{
    while (a->n_files)
        common_release(&r->alloc, a->files[--a->n_files].path);
}

static void forget(isolated *r, size_t i)
{
    answer *a = &r->kept->answers[i];
    forget_result(r, a);
    forget_files(r, a);
    *a = (answer){.used = 0};
    r->kept->numbers[i] = 0;
}

void isolated_kept_clear(isolated *r)
{
    for (size_t i = 0; r->kept && i < ANSWERS; i++)
        forget(r, i);
    common_release(&r->alloc, r->kept);
    r->kept = NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool same(const state *a, const state *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static state state_of(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return (state){.exists = 0};
    return (state){.exists = 1,
                   .dev = (uint64_t)st.st_dev,
                   .ino = (uint64_t)st.st_ino,
                   .size = (uint64_t)st.st_size,
                   .mode = (uint64_t)st.st_mode,
                   .s = (int64_t)st.st_ctim.tv_sec,
                   .ns = (int64_t)st.st_ctim.tv_nsec};
}

static bool are_unchanged(const answer *a)
{
    for (size_t i = 0; i < a->n_files; i++) {
        state now = state_of(a->files[i].path);
        if (!same(&now, &a->files[i].state))
            return false;
    }
    return true;
}

/* Whether the file system has its files to itself, so that their times are always exact. A client of
 * a network file system learns late about changes. */
static bool is_local(const char *path)
{
    static const uint32_t types[] = {
        0xEF53,     /* ext2, ext3, ext4 */
        0x58465342, /* XFS */
        0x9123683E, /* Btrfs */
        0xF2F52010, /* F2FS */
        0x2FC12FC1, /* ZFS */
        0x01021994, /* tmpfs */
        0x794C7630, /* overlayfs */
    };
    struct statfs fs;
    bool found = false;
    if (statfs(path, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        found = found || (uint32_t)fs.f_type == types[i];
    return found;
}

/* Whether all folders of the path below `root`, which is `len` bytes of it, are folders of the same
 * file system and not links, as far as they exist. */
static bool is_below(char *path, size_t len, uint64_t dev)
{
    for (char *end = path + len; *end == '/';) {
        char *name = end + 1;
        size_t n = strcspn(name, "/");
        if (!n || (n <= 2 && strspn(name, ".") >= n))
            return false;
        end = name + n;
        if (!*end)
            break;
        *end = 0;
        state at = state_of(path);
        *end = '/';
        if (at.exists && (!S_ISDIR((mode_t)at.mode) || at.dev != dev))
            return false;
    }
    return true;
}

/* Whether an answer may be kept. */
typedef enum outlook {
    YES,
    LATER, /* a file has just changed */
    NEVER,
} outlook;

/* Examines a file that the process named. */
static outlook look_at(const isolated *r, mcp_str name, bool exists, uint64_t dev, file *to)
{
    char path[ROOM];
    struct timespec now;
    const char *root = r->options.paths[0];
    int len = snprintf(path, sizeof(path), "%s%.*s", root, (int)(name.len < ROOM ? name.len : ROOM),
                       name.ptr);
    if (!name.len || name.ptr[0] != '/' || memchr(name.ptr, 0, name.len) || len < 0 ||
        len >= ROOM || !is_below(path, strlen(root), dev))
        return NEVER;
    clock_gettime(CLOCK_REALTIME, &now);
    to->state = state_of(path);
    if (exists && to->state.exists && to->state.dev != dev)
        return NEVER;
    if (to->state.exists != exists || (exists && now.tv_sec - to->state.s <= YOUNG_S))
        return LATER;
    to->path = common_copy(&r->alloc, path, (size_t)len);
    return to->path ? YES : LATER;
}

/* Examines all files that the process named. */
static outlook look_at_all(const isolated *r, const mcp_json *names, answer *to)
{
    const mcp_json *name, *exists;
    mcp_json_iter it = {0};
    struct stat root;
    const char *path = r->options.paths[0];
    if (stat(path, &root) != 0 || !S_ISDIR(root.st_mode))
        return LATER;
    while ((name = mcp_json_next(names, &it, NULL)) != NULL) {
        exists = mcp_json_next(names, &it, NULL);
        if (to->n_files == FILES || !mcp_json_is(name, MCP_JSON_STRING) ||
            !mcp_json_is(exists, MCP_JSON_BOOL))
            return NEVER;
        outlook one = look_at(r, mcp_json_string(name), mcp_json_bool(exists, false),
                              (uint64_t)root.st_dev, &to->files[to->n_files]);
        if (one != YES)
            return one;
        to->n_files++;
    }
    return to->n_files ? YES : NEVER;
}

static bool same_files(const answer *a, const answer *b)
{
    bool equal = a->n_files == b->n_files;
    for (size_t i = 0; equal && i < a->n_files; i++)
        equal = strcmp(a->files[i].path, b->files[i].path) == 0 &&
                same(&a->files[i].state, &b->files[i].state);
    return equal;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Returns a number that is equal for equal requests, and never 0. */
static uint64_t number_of(const isolated_params *p)
{
    uint64_t n = UINT64_C(14695981039346656037), word;
    size_t i = 0;
    for (; i + sizeof(word) <= p->len; i += sizeof(word)) {
        memcpy(&word, p->members + i, sizeof(word));
        n = (n ^ word) * UINT64_C(1099511628211);
        n ^= n >> 32;
    }
    for (; i < p->len; i++)
        n = (n ^ (unsigned char)p->members[i]) * UINT64_C(1099511628211);
    return n ? n : 1;
}

static answer *find(const isolated *r, uint64_t number)
{
    for (size_t i = 0; r->kept && i < ANSWERS; i++) {
        if (r->kept->numbers[i] == number)
            return &r->kept->answers[i];
    }
    return NULL;
}

/* Remembers a request in the place of the one that was not used for the longest time. */
static void enter(isolated *r, uint64_t number)
{
    size_t oldest = 0;
    if (!r->kept) {
        r->kept = common_alloc(&r->alloc, sizeof(*r->kept));
        if (!r->kept)
            return;
        memset(r->kept, 0, sizeof(*r->kept));
    }
    for (size_t i = 0; i < ANSWERS; i++) {
        if (r->kept->answers[i].used < r->kept->answers[oldest].used)
            oldest = i;
    }
    forget(r, oldest);
    r->kept->numbers[oldest] = number;
    r->kept->answers[oldest].used = ++r->kept_clock;
}

static bool may_keep(const isolated_call *c)
{
    const isolated *r = c->owner;
    return !r->trials && !c->list && !c->caller && r->options.paths && r->options.paths[0] &&
           strcmp(c->method, "resources/read") == 0 && !mcp_request_restricted(c->req);
}

static bool is_of(const answer *a, const isolated_params *p)
{
    return a->key && a->key_len == p->len && memcmp(a->key, p->members, p->len) == 0;
}

bool isolated_kept_answer(isolated_call *c, int *rc)
{
    isolated *r = c->owner;
    if (!may_keep(c))
        return false;
    uint64_t number = number_of(&c->params);
    answer *a = find(r, number);
    if (!a) {
        enter(r, number);
        return false;
    }
    a->used = ++r->kept_clock;
    if (r->stamped && is_of(a, &c->params) && are_unchanged(a)) {
        const mcp_raw raw = {.size = sizeof(raw),
                             .json = {a->result.text.ptr, a->result.text.len},
                             .value = mcp_json_root(a->result.doc)};
        *rc = mcp_reply_raw(c->req, &raw);
        return true;
    }
    forget_result(r, a);
    if (!a->never) {
        c->kept = number;
        c->kept_at = a->used;
        c->asks_files = true;
        isolated_params_ask_files(&c->params);
    }
    return false;
}

/* ---- results --------------------------------------------------------------------------------- */

static bool nothing(mcp_str key)
{
    (void)key;
    return false;
}

static bool is_files(mcp_str key)
{
    return mcp_str_eq(key, MCP_STR(COMMON_META_FILES));
}

/* Appends the result without the names of files. */
static int put_result(common_buffer *b, const mcp_raw *raw)
{
    const mcp_json *meta = mcp_json_get(raw->value, "_meta");
    mcp_str text = {NULL, 0}, none;
    int rc = common_buffer_append(b, "{", 1);
    if (rc == MCP_OK)
        rc = isolated_put_members(b, raw->value, raw->json, nothing, &text);
    if (rc == MCP_OK && mcp_json_count(meta) > 1) {
        rc = common_put(b, b->len > 1 ? ",\"_meta\":{" : "\"_meta\":{") ? MCP_OK : MCP_ENOMEM;
        if (rc == MCP_OK)
            rc = isolated_put_members(b, meta, text, is_files, &none);
        if (rc == MCP_OK)
            rc = common_buffer_append(b, "}", 1);
    }
    return rc == MCP_OK ? common_buffer_append(b, "}", 1) : rc;
}

static void keep(const isolated_call *c, answer *a, isolated_result *result)
{
    isolated *r = c->owner;
    a->key = common_copy(&r->alloc, c->params.members, c->params.len);
    if (!a->key)
        return;
    a->key_len = c->params.len;
    a->result = *result;
    r->kept->bytes += bytes_of(a);
    *result = (isolated_result){.doc = NULL}; /* *raw still points to it */
    for (size_t i = 0; i < ANSWERS && r->kept->bytes > ALL; i++) {
        if (&r->kept->answers[i] != a)
            forget_result(r, &r->kept->answers[i]);
    }
}

/* Keeps the answer if the files are those of the last one, and unchanged since before the request
 * arrived. Otherwise remembers them. */
static void consider(const isolated_call *c, answer *a, const mcp_json *names,
                     isolated_result *result)
{
    isolated *r = c->owner;
    answer now = {.used = 0};
    outlook all = look_at_all(r, names, &now);
    forget_result(r, a);
    a->never = a->never || all == NEVER || result->text.len > LONGEST;
    if (all == YES && c->kept_at > a->looked && same_files(a, &now) && !a->never) {
        forget_files(r, &now);
        keep(c, a, result);
        return;
    }
    forget_files(r, a);
    if (all != YES)
        forget_files(r, &now);
    memcpy(a->files, now.files, sizeof(now.files));
    a->n_files = now.n_files;
    a->looked = ++r->kept_clock;
}

int isolated_kept_take(const isolated_call *c, mcp_raw *raw, isolated_result *to)
{
    const isolated *r = c->owner;
    const mcp_json *names = mcp_json_get(mcp_json_get(raw->value, "_meta"), COMMON_META_FILES);
    answer *a = find(r, c->kept);
    if (a)
        a->never = !names || !is_local(r->options.paths[0]);
    if (!names)
        return MCP_OK;
    common_buffer_init(&to->text, &r->alloc);
    int rc = put_result(&to->text, raw);
    raw->json = (mcp_str){to->text.ptr, to->text.len};
    if (rc == MCP_OK)
        rc = mcp_json_parse(raw->json, NULL, &r->alloc, &to->doc, NULL);
    raw->value = mcp_json_root(to->doc);
    if (rc == MCP_OK && a && !a->never)
        consider(c, a, names, to);
    return rc == MCP_EPARSE || rc == MCP_ELIMIT ? MCP_EPROTOCOL : rc;
}
