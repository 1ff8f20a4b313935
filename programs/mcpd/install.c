/* install.c: puts an entry into a host's configuration file.
 *
 * The entry is inserted as text, and the file is not regenerated from its parsed form, so that the
 * comments, order and layout of everything else are preserved. The result is parsed again before it
 * is written, and a file that cannot be edited in this way is not changed. The folder of the file
 * is opened once, and all accesses use its descriptor. A symbolic link in place of the file is not
 * followed.
 */
#define _GNU_SOURCE
#include "install.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <common/file.h>
#include <common/jsonc.h>
#include <common/text.h>

enum { LARGEST = 16 << 20, MOST_COPIES = 99 };

typedef struct edit {
    const entry *entry;
    char *path;       /* for people */
    int folder;       /* descriptor of the file's folder; -1 if not open */
    const char *base; /* the file's name in the folder */
    bool exists;
    struct stat was;
    char *old, *made, *insert; /* the text, the new text, and the insertion */
    size_t len, from, to;      /* bytes of `old` that `insert` replaces */
    char why[300];             /* why the file cannot be edited */
} edit;

/* Sets the reason. The macro also evaluates to false, so that readers and analyzers can see that
 * the function fails. */
static void explain(edit *d, const char *format, ...) MCP_PRINTF(2, 3);
static void explain(edit *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(d->why, sizeof(d->why), format, args);
    va_end(args);
}
#define REFUSE(d, ...) (explain(d, __VA_ARGS__), false)

/* ---- opening --------------------------------------------------------------------------------- */

/* Opens the folder. A host may be installed without its folder of settings, so one folder is
 * created, which only the user can access. */
static bool open_folder(edit *d)
{
    char *folder = strdup(d->path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (!folder)
        return REFUSE(d, "out of memory");
    d->base = slash ? d->path + (slash - folder) + 1 : d->path;
    if (slash)
        slash[slash == folder] = 0;
    const char *at = slash ? folder : ".";
    d->folder = open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->folder < 0 && errno == ENOENT && mkdir(at, 0700) == 0)
        d->folder = open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->folder < 0)
        explain(d, "%.200s: %s: is %s installed?", at, strerror(errno), d->entry->host->title);
    free(folder);
    return d->folder >= 0;
}

static bool load(edit *d)
{
    mcp_error error;
    int fd = openat(d->folder, d->base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    d->exists = fd >= 0 || errno != ENOENT;
    if (fd < 0 && errno == ELOOP)
        return REFUSE(d, "it is a symbolic link: name the file itself with --install-file");
    if (fd < 0 && d->exists)
        return REFUSE(d, "%s", strerror(errno));
    if (fd < 0)
        return (d->old = strdup("")) || REFUSE(d, "out of memory");
    bool ok = (fstat(fd, &d->was) == 0 && S_ISREG(d->was.st_mode)) ||
              REFUSE(d, "it is not a regular file");
    if (ok && file_read(fd, LARGEST, &d->old, &d->len, &error) != MCP_OK)
        ok = REFUSE(d, "%s", error.text);
    close(fd);
    if (ok && memchr(d->old, 0, d->len))
        ok = REFUSE(d, "it contains a NUL character");
    return ok;
}

/* ---- the change ------------------------------------------------------------------------------ */

/* Returns the lines `from` to `to` of a text, counted from 0, each after a newline. The caller
 * frees them. */
static char *lines_of(const char *text, size_t from, size_t to)
{
    size_t line = 0;
    char *made = malloc(strlen(text) + 2), *end = made;
    for (const char *p = text; made && *p; line++) {
        size_t len = strcspn(p, "\n");
        if (line >= from && line < to) {
            *end++ = '\n';
            memcpy(end, p, len);
            end += len;
        }
        p += len + (p[len] == '\n');
    }
    if (made)
        *end = 0;
    return made;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Inserts these lines of the whole entry as the first member of the object that begins at `at`. */
static bool put_first(edit *d, const char *whole, size_t depth, size_t at, bool empty)
{
    char *lines = lines_of(whole, depth, count_lines(whole) - depth);
    const char *end = !empty ? "," : depth == 2 ? "\n  " : "\n";
    d->from = d->to = at + 1;
    if (!lines || asprintf(&d->insert, "%s%s", lines, end) < 0)
        d->insert = NULL;
    free(lines);
    return d->insert || REFUSE(d, "out of memory");
}

/* Replaces only the value of the entry, the part after its name. */
static bool put_value(edit *d, const char *whole, size_t from, size_t to)
{
    char *lines = lines_of(whole, 2, count_lines(whole) - 2);
    const char *value = lines ? strstr(lines, "\": {") : NULL;
    d->from = from;
    d->to = to;
    d->insert = value ? strdup(value + 3) : NULL;
    free(lines);
    return d->insert || REFUSE(d, "out of memory");
}

static bool edit_object(edit *d, const char *whole, mcp_str json, const mcp_json *root)
{
    const char *key = d->entry->host->key, *name = d->entry->name;
    const mcp_json *servers = mcp_json_get(root, key);
    size_t at = strspn(json.ptr, " \t\r\n"), from, to, begin, end;
    if (!mcp_json_is(root, MCP_JSON_OBJECT) || (servers && !mcp_json_is(servers, MCP_JSON_OBJECT)))
        return REFUSE(d, "%s in it is not an object", servers ? key : "what is");
    if (!servers)
        return put_first(d, whole, 1, at, mcp_json_count(root) == 0);
    if (!jsonc_member(json, at, key, &from, &to))
        return REFUSE(d, "its \"%s\" cannot be edited safely", key);
    if (!mcp_json_get(servers, name))
        return put_first(d, whole, 2, from, mcp_json_count(servers) == 0);
    if (!jsonc_member(json, from, name, &begin, &end))
        return REFUSE(d, "its \"%s\" cannot be edited safely", name);
    return put_value(d, whole, begin, end);
}

/* Parses a text in which comments are replaced by spaces. Returns NULL after setting the reason. */
static mcp_json_doc *parse(edit *d, char *text)
{
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    size_t line, column, len = text ? strlen(text) : 0;
    if (!text)
        return explain(d, "out of memory"), NULL;
    jsonc_strip(text, len);
    if (mcp_json_parse((mcp_str){text, len}, NULL, NULL, &doc, &error) == MCP_OK)
        return doc;
    jsonc_position((mcp_str){text, len}, error.offset, &line, &column);
    explain(d, "line %zu, column %zu: it is not JSON, with or without comments: %.150s", line,
            column, error.text[0] ? error.text : mcp_error_text(error.code));
    return NULL;
}

static bool change_json(edit *d, const char *whole)
{
    char *text = strdup(d->old);
    mcp_json_doc *doc = parse(d, text);
    bool ok = doc && edit_object(d, whole, mcp_str_from(text), mcp_json_root(doc));
    mcp_json_free(doc);
    free(text);
    return ok;
}

/* How a line of TOML relates to the table that is to be inserted. */
typedef enum kinship { UNRELATED, THE_SAME, UNCLEAR } kinship;

/* Compares a line with the table's header. Multi-line strings and unusual spellings are not parsed,
 * so lines that merely look similar are UNCLEAR. */
static kinship compare_line(const edit *d, const char *line, const char *table, size_t len)
{
    const char *key = d->entry->host->key;
    bool header =
        line[0] == '[' && strncmp(line + 1, key, strlen(key)) == 0 && line[strlen(key) + 1] == '.';
    if (line[0] == '#' || (line[0] != '[' && !strstr(line, key)))
        return UNRELATED;
    if (strncmp(line, table, len) == 0 && (line[len] == ']' || line[len] == '.'))
        return THE_SAME;
    if (!header)
        return strstr(line, key) || strchr(line, '\\') ? UNCLEAR : UNRELATED;
    return line[strcspn(line, "\"'\\ \t")] ? UNCLEAR : UNRELATED;
}

/* Appends the table to the file if the file contains no line of the table in any form. */
static bool change_toml(edit *d, const char *whole)
{
    size_t len = strcspn(whole, "\n") - 1; /* "[mcp_servers.NAME" */
    for (const char *p = d->old; *p; p += strspn(p, "\r\n")) {
        p += strspn(p, " \t");
        char *line = strndup(p, strcspn(p, "\r\n"));
        kinship found = line ? compare_line(d, line, whole, len) : UNCLEAR;
        p += strcspn(p, "\r\n");
        free(line);
        if (found == THE_SAME)
            return REFUSE(d, "it has a server %s already: change that, or choose another --name",
                          d->entry->name);
        if (found == UNCLEAR)
            return REFUSE(d, "its entry for %s cannot be edited safely", d->entry->host->key);
    }
    bool ended = d->len == 0 || d->old[d->len - 1] == '\n';
    d->from = d->to = d->len;
    if (asprintf(&d->insert, "%s%s%s", ended ? "" : "\n", d->len ? "\n" : "", whole) < 0)
        d->insert = NULL;
    return d->insert || REFUSE(d, "out of memory");
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == 0;
}

/* Returns the entry in a file as JSON text, for comparison. The caller frees it. Returns NULL if
 * there is none. */
static char *entry_in(edit *d, const char *file)
{
    char *text = strdup(file), *ret = NULL;
    mcp_json_doc *doc = parse(d, text);
    const mcp_json *servers = mcp_json_get(mcp_json_root(doc), d->entry->host->key);
    const mcp_json *value = mcp_json_get(servers, d->entry->name);
    mcp_json_writer *w = value ? mcp_json_writer_new(NULL, 0) : NULL;
    mcp_str json;
    mcp_json_add_value(w, value);
    if (w && mcp_json_writer_finish(w, &json) == MCP_OK)
        ret = text_dup(json);
    mcp_json_writer_free(w);
    mcp_json_free(doc);
    free(text);
    return ret;
}

/* Checks that the new text contains the intended entry. */
static bool check(edit *d, const char *whole)
{
    if (d->entry->host->toml)
        return true;
    char *has = entry_in(d, d->made), *wanted = entry_in(d, whole);
    bool ok =
        (has && wanted && strcmp(has, wanted) == 0) || REFUSE(d, "it cannot be edited safely");
    free(has);
    free(wanted);
    return ok;
}

static bool plan(edit *d, const char *whole)
{
    char *made = NULL;
    bool ok;
    if (d->entry->host->toml) {
        ok = change_toml(d, whole);
    } else if (is_blank(d->old)) {
        d->to = d->len;
        ok = (d->insert = strdup(whole)) || REFUSE(d, "out of memory");
    } else {
        ok = change_json(d, whole);
    }
    if (ok && asprintf(&made, "%.*s%s%s", (int)d->from, d->old, d->insert, d->old + d->to) < 0)
        made = NULL, ok = REFUSE(d, "out of memory");
    d->made = made;
    return ok && check(d, whole);
}

/* ---- showing the change and asking ----------------------------------------------------------- */

static void show_lines(const char *mark, mcp_str text)
{
    while (text.len) {
        const char *newline = memchr(text.ptr, '\n', text.len);
        size_t len = newline ? (size_t)(newline - text.ptr) : text.len;
        if (len) {
            fputs(mark, stdout);
            text_put(stdout, (mcp_str){text.ptr, len}, TEXT_LINE);
            putchar('\n');
        }
        len += newline != NULL;
        text = (mcp_str){text.ptr + len, text.len - len};
    }
}

static void show(const edit *d)
{
    size_t line, column;
    jsonc_position((mcp_str){d->old, d->len}, d->from, &line, &column);
    text_put(stdout, mcp_str_from(d->path), TEXT_LINE);
    printf(" (%s), ", d->entry->host->title);
    if (d->exists)
        printf("line %zu:\n", line);
    else
        printf("a new file:\n");
    show_lines("- ", (mcp_str){d->old + d->from, d->to - d->from});
    show_lines("+ ", mcp_str_from(d->insert));
    fflush(stdout);
}

static bool ask(void)
{
    char answer[16];
    fputs("Write it? [y/N] ", stderr);
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool write_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

/* Creates a new file with the permissions of the old one. On failure, no file remains. */
static bool create(const edit *d, const char *name, const char *text, size_t len)
{
    int fd = openat(d->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, text, len);
    if (ok && d->exists && (d->was.st_uid != geteuid() || d->was.st_gid != getegid()))
        ok = fchown(fd, d->was.st_uid, d->was.st_gid) == 0;
    if (ok && d->exists)
        ok = fchmod(fd, d->was.st_mode & 0777) == 0;
    ok = ok && fsync(fd) == 0;
    int why = errno;
    close(fd);
    if (!ok)
        unlinkat(d->folder, name, 0);
    errno = why;
    return ok;
}

static bool copy_old(edit *d, char **ret)
{
    for (int i = 1; d->exists && i <= MOST_COPIES; i++) {
        char number[8] = "";
        if (i > 1)
            snprintf(number, sizeof(number), "-%d", i);
        if (asprintf(ret, "%s.before-mcpd%s", d->base, number) < 0) {
            *ret = NULL;
            return REFUSE(d, "out of memory");
        }
        if (create(d, *ret, d->old, d->len))
            return true;
        int why = errno;
        free(*ret);
        *ret = NULL;
        if (why != EEXIST)
            return REFUSE(d, "no copy of it can be made: %s", strerror(why));
    }
    return !d->exists || REFUSE(d, "there are %d copies of it already", MOST_COPIES);
}

static bool is_unchanged(const edit *d)
{
    struct stat now;
    if (fstatat(d->folder, d->base, &now, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT && !d->exists;
    return d->exists && now.st_ino == d->was.st_ino && now.st_dev == d->was.st_dev &&
           now.st_size == d->was.st_size && now.st_mtim.tv_sec == d->was.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == d->was.st_mtim.tv_nsec;
}

static bool replace(edit *d)
{
    char name[40];
    snprintf(name, sizeof(name), ".mcpd-%ld", (long)getpid());
    unlinkat(d->folder, name, 0);
    if (!create(d, name, d->made, strlen(d->made)))
        return REFUSE(d, "it cannot be written: %s", strerror(errno));
    bool ok = is_unchanged(d) || REFUSE(d, "it was changed meanwhile; nothing was written");
    unsigned how = d->exists ? 0 : RENAME_NOREPLACE;
    if (ok && syscall(SYS_renameat2, d->folder, name, d->folder, d->base, how) < 0)
        ok = REFUSE(d, "it cannot be written: %s", strerror(errno));
    if (!ok)
        unlinkat(d->folder, name, 0);
    return ok;
}

/* ---- installing ------------------------------------------------------------------------------ */

static int put_in(edit *d, bool yes)
{
    char *copy = NULL;
    if (strcmp(d->made, d->old) == 0) {
        printf("%s has this entry already\n", d->path);
        return 0;
    }
    show(d);
    if (!yes && !(isatty(STDIN_FILENO) && isatty(STDERR_FILENO))) {
        say("cannot ask for confirmation without a terminal: --yes writes without confirmation");
        return 2;
    }
    if (!yes && !ask()) {
        say("nothing was written");
        return 1;
    }
    bool ok = copy_old(d, &copy) && replace(d);
    if (ok)
        printf("written%s%s\n", copy ? "; the previous version is kept as " : "", copy ? copy : "");
    else
        say("%s: %s", d->path, d->why);
    free(copy);
    if (ok)
        entry_say_rest(d->entry);
    return ok ? 0 : 1;
}

int install_entry(const entry *e, const char *file, bool yes)
{
    edit d = {.entry = e, .folder = -1};
    char *whole = entry_text(e);
    int status = 1;
    d.path = file ? strdup(file) : host_file(e->host);
    if (whole && e->host->below == HOST_NOWHERE && !file) {
        say("%s is ambiguous: use claude-code or claude-desktop", e->host->name);
        status = 2;
    } else if (whole && !d.path) {
        say("the file of %s is unknown: HOME is not set", e->host->title);
    } else if (whole && open_folder(&d) && load(&d) && plan(&d, whole)) {
        status = put_in(&d, yes);
    } else if (whole) {
        say("%s: %s", d.path, d.why);
        hint("add this entry yourself:");
        fputs(whole, stdout);
    }
    if (d.folder >= 0)
        close(d.folder);
    free(d.path);
    free(d.old);
    free(d.made);
    free(d.insert);
    free(whole);
    return status;
}
