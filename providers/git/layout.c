/* layout.c: see layout.h. */
#define _GNU_SOURCE
#include "layout.h"

#include "reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

enum { SMALL = COMMON_PATH_MAX + 16, CONFIG = 64 << 10, MAX_FILES = 100000 };

static const char elsewhere[] = "it is outside the configured folder; if this is intended, name a "
                                "folder that contains both: ?within=FOLDER";

typedef struct opening {
    repo_layout *l;
    const char *path;
    bool looks; /* no file is read; see repo_layout_open() */
    mcp_error *error;
} opening;

static int refuse(const opening *o, int code, const char *what, const char *why)
{
    if (o->error) {
        o->error->code = code;
        o->error->offset = 0;
        snprintf(o->error->text, sizeof(o->error->text), "%.80s: %.32s%s%.139s", o->path, what,
                 *what ? ": " : "", why);
    }
    return code;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static bool real_path(int fd, char to[COMMON_PATH_MAX])
{
    char name[40];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(name, to, COMMON_PATH_MAX - 1);
    if (len <= 0 || len >= COMMON_PATH_MAX - 1)
        return false;
    to[len] = 0;
    return true;
}

bool repo_layout_is_within(const repo_layout *l, int fd)
{
    char real[COMMON_PATH_MAX];
    size_t len = strlen(l->within);
    if (!real_path(fd, real))
        return false;
    return len == 1 || (strncmp(real, l->within, len) == 0 && (!real[len] || real[len] == '/'));
}

static bool is_within(const opening *o, int fd)
{
    return repo_layout_is_within(o->l, fd);
}

/* Fails because a file of the repository cannot be read, for whatever reason. */
static int unreadable(const opening *o, int rc, const char *what)
{
    if (rc == MCP_EFILES)
        return refuse(o, rc, what, strerror(EMFILE));
    return refuse(o, MCP_EACCESS, what, "it cannot be read");
}

/* Opens a folder by its name relative to `dir`, or by an absolute path. */
static int open_folder(const opening *o, int dir, const char *name, const char *what, int *ret)
{
    int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return refuse(o, common_code_of_errno(errno), what, strerror(errno));
    if (!is_within(o, fd)) {
        close(fd);
        return refuse(o, MCP_EACCESS, what, elsewhere);
    }
    *ret = fd;
    return MCP_OK;
}

/* Opens what a path with a link leads to. It is checked before it is opened for reading. */
static int open_linked(const repo_layout *l, int dir, const char *name, mode_t kind, int *ret_fd,
                       struct stat *st)
{
    char again[40];
    int rc = MCP_OK, fd = openat(dir, name, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return common_code_of_errno(errno);
    if (fstat(fd, st) < 0 || (st->st_mode & S_IFMT) != kind || !repo_layout_is_within(l, fd))
        rc = MCP_EACCESS;
    snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
    if (rc == MCP_OK && (*ret_fd = open(again, O_RDONLY | O_CLOEXEC)) < 0)
        rc = common_code_of_errno(errno);
    close(fd);
    return rc;
}

int repo_layout_open_in(const repo_layout *l, common_beneath at, const char *name, int *ret_fd,
                        struct stat *st)
{
    int rc = common_beneath_open(at, name, ret_fd, st);
    if (rc == COMMON_IS_LINK)
        return open_linked(l, at.fd, name, S_IFREG, ret_fd, st);
    if (rc == MCP_OK && !S_ISREG(st->st_mode)) {
        close(*ret_fd);
        rc = MCP_EACCESS;
    }
    return rc;
}

int repo_layout_open_dir(const repo_layout *l, common_beneath at, const char *name, int *ret_fd)
{
    struct stat st;
    int rc = common_beneath_open_dir(at, name, ret_fd);
    return rc == COMMON_IS_LINK ? open_linked(l, at.fd, name, S_IFDIR, ret_fd, &st) : rc;
}

int repo_read_small(const repo_layout *l, common_beneath at, const char *rel, char *to, size_t room,
                    size_t *ret_len)
{
    struct stat st;
    int fd, rc = common_beneath_open(at, rel, &fd, &st);
    size_t len = 0;
    if (rc == COMMON_IS_LINK && l)
        rc = open_linked(l, at.fd, rel, S_IFREG, &fd, &st);
    if (rc != MCP_OK)
        return rc;
    /* Git replaces such files as a whole, so one that has been read up to its size is complete. */
    while (S_ISREG(st.st_mode) && len + 1 < room && (!len || len != (size_t)st.st_size)) {
        ssize_t n = read(fd, to + len, room - 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = MCP_EIO;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    close(fd);
    to[len] = 0;
    *ret_len = len;
    return S_ISREG(st.st_mode) ? rc : MCP_ENOTFOUND;
}

/* Gets the first line of the text, after a key. */
static bool one_line(char *text, const char *key, const char **ret)
{
    size_t len = strlen(key);
    if (strncmp(text, key, len) != 0)
        return false;
    text[len + strcspn(text + len, "\r\n")] = 0;
    *ret = text + len;
    return **ret != 0;
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool has(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, 0) == 0;
}

static int follow_git_file(const opening *o, int root, int *ret)
{
    char text[SMALL];
    const char *name;
    size_t len;
    common_beneath at = {.fd = root, .walk = common_beneath_needs_walk(root)};
    int rc = repo_read_small(o->l, at, ".git", text, sizeof(text), &len);
    if (rc == MCP_EFILES)
        return unreadable(o, rc, ".git");
    if (rc != MCP_OK || !one_line(text, "gitdir: ", &name))
        return refuse(o, MCP_EINVAL, ".git", "neither a folder nor a file that refers to one");
    return open_folder(o, root, name, ".git", ret);
}

static int find_git(const opening *o, int root, int *ret)
{
    struct stat st;
    bool any = fstatat(root, ".git", &st, 0) == 0;
    if (any && S_ISREG(st.st_mode) && o->looks)
        return MCP_OK;
    if (any)
        return S_ISDIR(st.st_mode) ? open_folder(o, root, ".git", ".git", ret)
                                   : follow_git_file(o, root, ret);
    if (has(root, "HEAD") && has(root, "objects") && has(root, "refs"))
        return open_folder(o, root, ".", "", ret);
    return refuse(
        o, MCP_EINVAL, "",
        "not a git repository: it has no .git, and is not a bare repository (HEAD, objects, refs)");
}

static int find_common(const opening *o, int *ret)
{
    char text[SMALL];
    const char *name = ".";
    size_t len;
    int rc = repo_read_small(o->l, o->l->git, "commondir", text, sizeof(text), &len);
    if (rc != MCP_ENOTFOUND && (rc != MCP_OK || !one_line(text, "", &name)))
        return unreadable(o, rc, "commondir");
    return open_folder(o, o->l->git.fd, name, "commondir", ret);
}

/* Checks a file that will later be opened by name, where links are followed. Opening it repeats the
 * check; this one reports the problem and its reason early. */
static int check_file(const opening *o, int dir, const char *name)
{
    struct stat st;
    int rc = MCP_OK, fd = openat(dir, name, O_PATH | O_CLOEXEC);
    if (fd < 0 && common_code_of_errno(errno) == MCP_EFILES)
        rc = refuse(o, MCP_EFILES, "objects", strerror(errno));
    else if (fd < 0 || fstat(fd, &st) < 0 || !is_within(o, fd))
        rc = refuse(o, MCP_EACCESS, "objects", elsewhere);
    else if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        rc = refuse(o, MCP_EACCESS, "objects", "something in it is neither a file nor a folder");
    if (fd >= 0)
        close(fd);
    return rc;
}

static int check_files(const opening *o, int dir, const char *name)
{
    int rc = MCP_OK, fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return errno == ENOENT ? MCP_OK
                               : refuse(o, common_code_of_errno(errno), "objects", strerror(errno));
    }
    if (!is_within(o, fd))
        rc = refuse(o, MCP_EACCESS, "objects", elsewhere);
    for (size_t n = 0; rc == MCP_OK && (e = readdir(d)); n++)
        if (n == MAX_FILES)
            rc = refuse(o, MCP_ELIMIT, "objects", "too many files in one folder: run \"git gc\"");
        else if (e->d_type != DT_REG && e->d_type != DT_DIR && strcmp(e->d_name, "..") != 0)
            rc = check_file(o, fd, e->d_name);
    closedir(d);
    return rc;
}

static int add_objects(const opening *o, int dir, const char *name, const char *what);

static int add_alternates(const opening *o, int objects)
{
    char text[SMALL * 4], *line = text, *next;
    size_t len;
    common_beneath at = {.fd = objects, .walk = o->l->git.walk};
    int rc = repo_read_small(o->l, at, "info/alternates", text, sizeof(text), &len);
    if (rc == MCP_ENOTFOUND)
        return MCP_OK;
    if (rc != MCP_OK || len + 1 == sizeof(text))
        return unreadable(o, rc, "objects/info/alternates");
    for (rc = MCP_OK; rc == MCP_OK && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = 0;
        if (*line && *line != '#')
            rc = add_objects(o, objects, line, "objects/info/alternates");
    }
    return rc;
}

static int add_objects(const opening *o, int dir, const char *name, const char *what)
{
    repo_layout *l = o->l;
    int fd = -1, rc = open_folder(o, dir, name, what, &fd);
    struct stat st, other;
    if (rc == MCP_ENOTFOUND && l->n_objects)
        return MCP_OK; /* git ignores a missing alternate, too */
    if (rc != MCP_OK)
        return rc;
    for (size_t i = 0; i < l->n_objects; i++)
        if (fstat(fd, &st) == 0 && fstat(l->objects[i], &other) == 0 && st.st_ino == other.st_ino &&
            st.st_dev == other.st_dev) {
            close(fd);
            return MCP_OK;
        }
    if (l->n_objects == REPO_ALTERNATES) {
        close(fd);
        return refuse(o, MCP_ELIMIT, what, "too many");
    }
    l->objects[l->n_objects++] = fd;
    rc = check_files(o, fd, ".");
    if (rc == MCP_OK)
        rc = check_files(o, fd, "pack");
    return rc == MCP_OK ? add_alternates(o, fd) : rc;
}

/* Returns whether a line KEY = VALUE exists, in any section. */
static bool config_says(const char *text, const char *key, const char *value)
{
    for (const char *line = text; *line; line += *line == '\n') {
        const char *at = line + strspn(line, " \t");
        size_t len = strlen(key);
        line += strcspn(line, "\n");
        if (strncasecmp(at, key, len) != 0)
            continue;
        at += len + strspn(at + len, " \t");
        if (*at != '=')
            continue;
        at += 1 + strspn(at + 1, " \t\"");
        if (strncasecmp(at, value, strlen(value)) == 0)
            return true;
    }
    return false;
}

/* Rejects links that lead out of the allowed folder, by which no reference could be read. */
static int check_links(const opening *o)
{
    static const char *const names[] = {"HEAD", "refs", "packed-refs"};
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < sizeof(names) / sizeof(*names); i++) {
        int fd = openat(i ? o->l->common.fd : o->l->git.fd, names[i], O_PATH | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (!is_within(o, fd))
            rc = refuse(o, MCP_EACCESS, names[i], elsewhere);
        close(fd);
    }
    return rc;
}

/* Rejects the two settings that change the meaning of the repository's files. */
static int check_config(const opening *o)
{
    size_t len;
    char *text = common_alloc(&o->l->alloc, CONFIG);
    if (!text)
        return MCP_ENOMEM;
    int rc = repo_read_small(o->l, o->l->common, "config", text, CONFIG, &len);
    bool sha256 = rc == MCP_OK && config_says(text, "objectformat", "sha256");
    bool reftable = rc == MCP_OK && config_says(text, "refstorage", "reftable");
    common_release(&o->l->alloc, text);
    if (sha256)
        return refuse(o, MCP_EUNSUPPORTED, "", "repositories with SHA-256 are not supported");
    if (reftable)
        return refuse(o, MCP_EUNSUPPORTED, "", "repositories with reftable are not supported");
    return MCP_OK;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Returns whether there is a folder. */
static bool take_stamp(int dir, const char *name, repo_stamp *ret)
{
    struct stat st;
    memset(ret, 0, sizeof(*ret));
    if (fstatat(dir, name, &st, 0) != 0)
        return false;
    *ret = (repo_stamp){st.st_dev, st.st_ino, st.st_mtim};
    return S_ISDIR(st.st_mode);
}

/* Takes the stamps of all places. The time of a folder is used only where creating files as usual
 * does not change it; `objects` changes only when folders are created in it. */
static void take_stamps(const repo_layout *l, const char *path, repo_stamp stamp[REPO_STAMPS])
{
    take_stamp(l->objects[0], "pack", &stamp[0]);
    take_stamp(l->objects[0], "info/alternates", &stamp[1]);
    take_stamp(AT_FDCWD, path, &stamp[2]);
    take_stamp(l->objects[0], ".", &stamp[4]);
    stamp[2].changed = (struct timespec){0};
    if (take_stamp(l->root, ".git", &stamp[3]))
        stamp[3].changed = (struct timespec){0};
}

static bool same_stamp(const repo_stamp *a, const repo_stamp *b)
{
    return a->device == b->device && a->inode == b->inode &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

bool repo_layout_is_current(const repo_layout *l, const char *path)
{
    repo_stamp now[REPO_STAMPS];
    bool same = true;
    take_stamps(l, path, now);
    for (size_t i = 0; i < REPO_STAMPS; i++)
        same = same && same_stamp(&now[i], &l->stamp[i]);
    return same;
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* Opens the configured folder, and determines the folder that must contain everything. */
static int open_root(const opening *o, const char *within)
{
    repo_layout *l = o->l;
    char real[COMMON_PATH_MAX];
    int fd;
    l->root = open(o->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (l->root < 0)
        return refuse(o, common_code_of_errno(errno), "", strerror(errno));
    fd = within ? open(within, O_PATH | O_DIRECTORY | O_CLOEXEC) : l->root;
    if (fd < 0 && common_code_of_errno(errno) == MCP_EFILES)
        return refuse(o, MCP_EFILES, "within", strerror(errno));
    bool ok = fd >= 0 && real_path(fd, real);
    if (within && fd >= 0)
        close(fd);
    if (!ok)
        return refuse(o, MCP_EINVAL, "within", "no such folder");
    if (!(l->within = common_copy(&l->alloc, real, strlen(real))))
        return MCP_ENOMEM;
    return is_within(o, l->root) ? MCP_OK : refuse(o, MCP_EACCESS, "", elsewhere);
}

static int open_all(const opening *o, const char *within)
{
    repo_layout *l = o->l;
    int rc = open_root(o, within);
    if (rc == MCP_OK)
        rc = find_git(o, l->root, &l->git.fd);
    if (rc != MCP_OK || o->looks)
        return rc;
    l->git.walk = l->common.walk = common_beneath_needs_walk(l->git.fd);
    rc = find_common(o, &l->common.fd);
    if (rc == MCP_OK)
        rc = check_config(o);
    if (rc == MCP_OK)
        rc = check_links(o);
    if (rc == MCP_OK)
        rc = add_objects(o, l->common.fd, "objects", "objects");
    if (rc == MCP_OK)
        rc = repo_packs_look(l);
    return rc == MCP_ELIMIT && l->packs.n == REPO_PACKS
               ? refuse(o, rc, "objects", "too many packs: run \"git gc\"")
               : rc;
}

int repo_layout_open(const char *path, const char *within, const mcp_allocator *alloc,
                     repo_layout **ret, mcp_error *error)
{
    opening o = {
        .l = common_alloc(alloc, sizeof(*o.l)), .path = path, .looks = !ret, .error = error};
    if (!o.l)
        return MCP_ENOMEM;
    *o.l = (repo_layout){
        .alloc = *alloc, .uses = 1, .root = -1, .git = {-1, false}, .common = {-1, false}};
    if (pthread_mutex_init(&o.l->lock, NULL) != 0) {
        common_release(alloc, o.l);
        return MCP_ENOMEM;
    }
    int rc = open_all(&o, within);
    if (rc == MCP_OK && !o.looks) {
        take_stamps(o.l, path, o.l->stamp);
        *ret = o.l;
    } else {
        repo_layout_release(o.l);
    }
    return rc;
}

void repo_layout_release(repo_layout *l)
{
    if (!l || --l->uses)
        return;
    while (l->n_idle)
        git_odb_free(l->idle[--l->n_idle].odb);
    repo_packs_free(l);
    while (l->n_objects)
        close(l->objects[--l->n_objects]);
    if (l->common.fd >= 0)
        close(l->common.fd);
    if (l->git.fd >= 0)
        close(l->git.fd);
    if (l->root >= 0)
        close(l->root);
    pthread_mutex_destroy(&l->lock);
    mcp_allocator alloc = l->alloc;
    common_release(&alloc, l->within);
    common_release(&alloc, l);
}

bool repo_layout_has_worktree(const repo_layout *l)
{
    return has(l->root, ".git");
}

bool repo_layout_is_shallow(const repo_layout *l)
{
    return has(l->common.fd, "shallow");
}

/* ---- object databases ------------------------------------------------------------------------ */

repo_odb repo_layout_borrow(repo_layout *l)
{
    repo_odb o = {0};
    pthread_mutex_lock(&l->lock);
    if (l->n_idle)
        o = l->idle[--l->n_idle];
    pthread_mutex_unlock(&l->lock);
    if (!o.odb)
        o.odb = repo_reader_odb(l, &o.reader);
    return o;
}

void repo_layout_return(repo_layout *l, repo_odb o)
{
    bool kept;
    if (!o.odb)
        return;
    pthread_mutex_lock(&l->lock);
    kept = l->n_idle < REPO_IDLE;
    if (kept)
        l->idle[l->n_idle++] = o;
    pthread_mutex_unlock(&l->lock);
    if (!kept)
        git_odb_free(o.odb);
}

/* ---- object files ---------------------------------------------------------------------------- */

int repo_layout_open_file(const repo_layout *l, size_t place, const char *name, int *ret_fd,
                          struct stat *st)
{
    common_beneath at = {.fd = l->objects[place], .walk = l->git.walk};
    return repo_layout_open_in(l, at, name, ret_fd, st);
}
