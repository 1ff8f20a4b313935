/* mime.c: see mime.h.
 *
 * Among the globs that match a name, the one with the greatest weight is chosen, then the longest,
 * then the one of the folder with the highest priority. Globs are matched with the name as it is
 * and, if none matches, with the name in lower case. Nearly all globs are a suffix ("*.tar.gz") or
 * a whole name ("makefile"), which a hash table finds; the few others are tried one by one. */
#define _GNU_SOURCE
#include "mime.h"

#include "buffer.h"
#include "glob.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUCKETS = 2048, MAX_GLOBS = 65536, MAX_FOLDERS = 32 };
#define MAX_FILE ((size_t)8 << 20)

typedef struct glob {
    mcp_str text; /* without the star if it is a suffix */
    const char *type;
    uint32_t next; /* index of the next in its bucket or list; 0 is the end */
    int weight;
    bool suffix;
    bool exact_case;
    uint8_t folder; /* priority of its folder; the greatest wins */
    bool dead;      /* its type was redefined by a folder with higher priority */
} glob;

struct files_mime {
    mcp_allocator alloc;
    char *data_home, *data_dirs;
    pthread_mutex_t lock;
    atomic_bool loaded;
    char *files[MAX_FOLDERS]; /* contents of the globs2 files; lines and fields end in NUL */
    size_t file_count;
    glob *globs; /* from index 1; folders with lower priority first */
    size_t count, cap;
    uint32_t bucket[BUCKETS];
    uint32_t others;
};

static const struct {
    const char *ext, *type;
} known[] = {
    {"avif", "image/avif"},
    {"bmp", "image/bmp"},
    {"bz2", "application/x-bzip2"},
    {"c", "text/x-csrc"},
    {"cc", "text/x-c++src"},
    {"cpp", "text/x-c++src"},
    {"cs", "text/x-csharp"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"diff", "text/x-patch"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"epub", "application/epub+zip"},
    {"gif", "image/gif"},
    {"go", "text/x-go"},
    {"gz", "application/gzip"},
    {"h", "text/x-chdr"},
    {"hpp", "text/x-c++hdr"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"ico", "image/vnd.microsoft.icon"},
    {"java", "text/x-java"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"jsonl", "application/jsonl"},
    {"log", "text/x-log"},
    {"lua", "text/x-lua"},
    {"markdown", "text/markdown"},
    {"md", "text/markdown"},
    {"mjs", "text/javascript"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"ogg", "audio/ogg"},
    {"patch", "text/x-patch"},
    {"pdf", "application/pdf"},
    {"php", "application/x-php"},
    {"pl", "application/x-perl"},
    {"png", "image/png"},
    {"py", "text/x-python"},
    {"rb", "application/x-ruby"},
    {"rs", "text/x-rust"},
    {"rst", "text/x-rst"},
    {"sh", "application/x-shellscript"},
    {"sql", "application/sql"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tex", "text/x-tex"},
    {"tiff", "image/tiff"},
    {"toml", "application/toml"},
    {"ts", "text/x-typescript"},
    {"tsv", "text/tab-separated-values"},
    {"tsx", "text/x-typescript"},
    {"txt", "text/plain"},
    {"wasm", "application/wasm"},
    {"wav", "audio/x-wav"},
    {"webm", "video/webm"},
    {"webp", "image/webp"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"xz", "application/x-xz"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* ---- loading --------------------------------------------------------------------------------- */

static uint32_t hash_of(mcp_str s)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.ptr[i]) * 16777619u;
    return (h ^ h >> 15) % BUCKETS;
}

/* Returns the next field of a line, which ends in NUL. Replaces the colon by NUL, so that a type
 * can be used in place. */
static mcp_str field(char **line)
{
    char *colon = strchrnul(*line, ':');
    mcp_str f = {*line, (size_t)(colon - *line)};
    *line = *colon ? colon + 1 : colon;
    *colon = '\0';
    return f;
}

static int number(mcp_str s)
{
    int n = 0;
    for (size_t i = 0; i < s.len && i < 4 && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++)
        n = 10 * n + (s.ptr[i] - '0');
    return n;
}

static void forget_type(files_mime *m, const char *type, size_t before)
{
    for (size_t i = 1; i <= before; i++)
        m->globs[i].dead |= strcmp(m->globs[i].type, type) == 0;
}

static int reserve_glob(files_mime *m)
{
    if (m->count + 1 < m->cap)
        return MCP_OK;
    size_t cap = m->cap ? 2 * m->cap : 2048;
    glob *globs = m->globs ? m->alloc.resize(m->globs, cap * sizeof(*globs), m->alloc.user)
                           : common_alloc(&m->alloc, cap * sizeof(*globs));
    if (!globs)
        return MCP_ENOMEM;
    m->globs = globs;
    m->cap = cap;
    return MCP_OK;
}

/* Returns whether the glob repeats the previous one. Old readers do not know the flag `cs`, so the
 * database lists each case-sensitive glob twice. */
static bool repeats(const files_mime *m, const glob *g)
{
    const glob *last = &m->globs[m->count];
    return m->count && last->exact_case && !g->exact_case && strcmp(last->type, g->type) == 0 &&
           last->text.len + last->suffix == g->text.len &&
           memcmp(last->text.ptr, g->text.ptr + last->suffix, last->text.len) == 0;
}

static void link_glob(files_mime *m, uint32_t index)
{
    glob *g = &m->globs[index];
    size_t literal = common_glob_literal(g->text);
    uint32_t *list = &m->others;
    if (g->text.len > 2 && g->text.ptr[0] == '*' && g->text.ptr[1] == '.' &&
        common_glob_literal((mcp_str){g->text.ptr + 1, g->text.len - 1}) == g->text.len - 1) {
        g->suffix = true;
        g->text.ptr++, g->text.len--;
        list = &m->bucket[hash_of(g->text)];
    } else if (literal == g->text.len) {
        list = &m->bucket[hash_of(g->text)];
    }
    g->next = *list;
    *list = index;
}

/* Adds a line "weight:type:glob[:flag,flag...]". `before` is the number of globs from folders with
 * lower priority. */
static int add_line(files_mime *m, char *line, size_t before)
{
    if (*line == '#' || m->count >= MAX_GLOBS)
        return MCP_OK;
    mcp_str weight = field(&line), type = field(&line), text = field(&line), flags = field(&line);
    if (type.len == 0 || text.len == 0)
        return MCP_OK;
    glob g = {.text = text, .type = type.ptr, .weight = number(weight)};
    g.folder = (uint8_t)m->file_count;
    g.exact_case = strstr(flags.ptr, "cs") != NULL;
    if (mcp_str_eq(text, MCP_STR("__NOGLOBS__"))) {
        forget_type(m, type.ptr, before);
        return MCP_OK;
    }
    int rc = reserve_glob(m);
    if (rc != MCP_OK || repeats(m, &g))
        return rc;
    m->globs[++m->count] = g;
    link_glob(m, (uint32_t)m->count);
    return MCP_OK;
}

static char *read_file(const files_mime *m, const char *path, size_t *ret_len)
{
    struct stat st;
    char *text = NULL;
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= MAX_FILE)
        text = common_alloc(&m->alloc, (size_t)st.st_size + 1);
    while (text && len < (size_t)st.st_size) {
        ssize_t n = read(fd, text + len, (size_t)st.st_size - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    close(fd);
    *ret_len = len;
    return text;
}

static int load_folder(files_mime *m, mcp_str folder)
{
    char path[4096];
    static const char tail[] = "/mime/globs2";
    size_t len, before = m->count;
    int rc = MCP_OK;
    if (folder.len == 0 || folder.len + sizeof(tail) > sizeof(path) || m->file_count == MAX_FOLDERS)
        return MCP_OK;
    memcpy(path, folder.ptr, folder.len);
    memcpy(path + folder.len, tail, sizeof(tail));
    char *text = read_file(m, path, &len);
    if (!text)
        return MCP_OK;
    m->files[m->file_count++] = text;
    for (size_t at = 0; at < len && rc == MCP_OK;) {
        char *nl = memchr(text + at, '\n', len - at);
        size_t end = nl ? (size_t)(nl - text) : len;
        text[end] = '\0';
        rc = add_line(m, text + at, before);
        at = end + 1;
    }
    return rc;
}

/* Loads the folders from the lowest priority to the highest. */
static int load(files_mime *m)
{
    mcp_str rest = mcp_str_from(m->data_dirs);
    int rc = MCP_OK;
    while (rc == MCP_OK && rest.len) {
        const char *colon = memrchr(rest.ptr, ':', rest.len);
        size_t from = colon ? (size_t)(colon - rest.ptr) + 1 : 0;
        rc = load_folder(m, (mcp_str){rest.ptr + from, rest.len - from});
        rest.len = from ? from - 1 : 0;
    }
    if (rc == MCP_OK)
        rc = load_folder(m, mcp_str_from(m->data_home));
    return rc;
}

static void unload(files_mime *m)
{
    for (size_t i = 0; i < m->file_count; i++)
        common_release(&m->alloc, m->files[i]);
    if (m->globs)
        common_release(&m->alloc, m->globs);
    m->globs = NULL;
    m->file_count = m->count = m->cap = 0;
    memset(m->bucket, 0, sizeof(m->bucket));
    m->others = 0;
}

static void load_once(files_mime *m)
{
    if (atomic_load_explicit(&m->loaded, memory_order_acquire))
        return;
    pthread_mutex_lock(&m->lock);
    if (!atomic_load_explicit(&m->loaded, memory_order_relaxed)) {
        if (load(m) != MCP_OK)
            unload(m);
        atomic_store_explicit(&m->loaded, true, memory_order_release);
    }
    pthread_mutex_unlock(&m->lock);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

static size_t length(const glob *g)
{
    return g->text.len + g->suffix;
}

/* The best match so far, and whether another type matches equally well. */
typedef struct choice {
    const glob *best;
    bool open;
} choice;

static int rank(const glob *a, const glob *b)
{
    if (a->weight != b->weight)
        return a->weight - b->weight;
    if (length(a) != length(b))
        return length(a) > length(b) ? 1 : -1;
    return a->folder - b->folder;
}

static void consider(choice *c, const glob *g)
{
    int order = c->best ? rank(g, c->best) : 1;
    if (order > 0) {
        *c = (choice){g, false};
    } else if (order == 0) {
        c->open |= strcmp(g->type, c->best->type) != 0;
        if (g < c->best)
            c->best = g; /* the first one in the file */
    }
}

static void try_bucket(const files_mime *m, mcp_str text, bool suffix, bool folded, choice *found)
{
    for (uint32_t i = m->bucket[hash_of(text)]; i; i = m->globs[i].next) {
        const glob *g = &m->globs[i];
        if (g->suffix == suffix && !g->dead && !(folded && g->exact_case) &&
            mcp_str_eq(g->text, text))
            consider(found, g);
    }
}

static choice find(const files_mime *m, mcp_str name, bool folded)
{
    choice found = {0};
    try_bucket(m, name, false, folded, &found);
    for (size_t i = 0; i + 1 < name.len; i++) {
        if (name.ptr[i] == '.')
            try_bucket(m, (mcp_str){name.ptr + i, name.len - i}, true, folded, &found);
    }
    for (uint32_t i = m->others; i; i = m->globs[i].next) {
        const glob *g = &m->globs[i];
        if (!g->dead && !(folded && g->exact_case) && common_glob_match(g->text, name))
            consider(&found, g);
    }
    return found;
}

static const char *from_table(mcp_str folded)
{
    const char *dot = folded.len ? memrchr(folded.ptr, '.', folded.len) : NULL;
    size_t low = 0, high = sizeof(known) / sizeof(known[0]);
    if (!dot)
        return NULL;
    mcp_str ext = {dot + 1, folded.len - (size_t)(dot + 1 - folded.ptr)};
    while (low < high) {
        size_t mid = (low + high) / 2;
        mcp_str entry = mcp_str_from(known[mid].ext);
        int order = memcmp(ext.ptr, entry.ptr, ext.len < entry.len ? ext.len : entry.len);
        if (order == 0 && ext.len == entry.len)
            return known[mid].type;
        if (order < 0 || (order == 0 && ext.len < entry.len))
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

/* Types that have another name in the documents of MCP and in its hosts. The database knows that one as
 * an alias. */
static const char *as_known(const char *type)
{
    static const char *const names[][2] = {{"text/rust", "text/x-rust"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(type, names[i][0]) == 0)
            return names[i][1];
    }
    return type;
}

const char *files_mime_of_name(files_mime *mime, mcp_str name)
{
    char folded[256];
    if (name.len == 0 || name.len >= sizeof(folded))
        return NULL;
    load_once(mime);
    for (size_t i = 0; i < name.len; i++)
        folded[i] = lower(name.ptr[i]);
    mcp_str low = {folded, name.len};
    if (mime->count == 0)
        return from_table(low);
    choice found = find(mime, name, false);
    if (!found.best && !mcp_str_eq(name, low))
        found = find(mime, low, true);
    /* If the database is ambiguous (".ts" has two types there, and neither is TypeScript), the
     * built-in table decides. */
    const char *ours = found.open ? from_table(low) : NULL;
    if (ours)
        return ours;
    return found.best ? as_known(found.best->type) : NULL;
}

const char *files_mime_of_content(bool is_text)
{
    return is_text ? "text/plain" : "application/octet-stream";
}

/* ---- creating and freeing -------------------------------------------------------------------- */

int files_mime_new(const char *data_home, const char *data_dirs, const mcp_allocator *alloc,
                   files_mime **ret)
{
    mcp_allocator mem = common_allocator(alloc);
    files_mime *m = common_alloc(&mem, sizeof(*m));
    if (!m)
        return MCP_ENOMEM;
    if (!data_dirs || !*data_dirs)
        data_dirs = "/usr/local/share:/usr/share";
    memset(m, 0, sizeof(*m));
    m->alloc = mem;
    pthread_mutex_init(&m->lock, NULL);
    m->data_dirs = common_copy(&mem, data_dirs, strlen(data_dirs));
    m->data_home = common_copy(&mem, data_home ? data_home : "", data_home ? strlen(data_home) : 0);
    if (!m->data_dirs || !m->data_home) {
        files_mime_free(m);
        return MCP_ENOMEM;
    }
    *ret = m;
    return MCP_OK;
}

void files_mime_free(files_mime *mime)
{
    if (!mime)
        return;
    mcp_allocator mem = mime->alloc;
    unload(mime);
    common_release(&mem, mime->data_home);
    common_release(&mem, mime->data_dirs);
    pthread_mutex_destroy(&mime->lock);
    common_release(&mem, mime);
}
