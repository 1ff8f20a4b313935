/* folder.c: see folder.h. */
#define _GNU_SOURCE
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "beneath.h"
#include "buffer.h"

enum {
    MOST_NAMES = 100 * 1000, /* limit of names examined; real folders of prompts have far fewer */
    SETTLED_NS = 100 * 1000 * 1000,
};

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_prompt_file(const char *name)
{
    size_t len = strlen(name);
    return *name != '.' && len > 3 && strcmp(name + len - 3, ".md") == 0;
}

/* Returns the index of the name, or where to insert it. */
static size_t place_of(const prompts_folder *f, const char *name, bool *found)
{
    size_t low = 0, high = f->count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(f->entries[middle].file, name);
        if (order == 0)
            return *found = true, middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Keeps only the first PROMPTS_MAX_FILES names in byte order. */
static int add_name(prompts_folder *f, const char *name)
{
    bool found;
    size_t at = place_of(f, name, &found);
    if (f->count == PROMPTS_MAX_FILES) {
        f->truncated = true;
        if (found || at == f->count)
            return MCP_OK;
        common_release(&f->alloc, f->entries[--f->count].file);
    }
    char *copy = found ? NULL : common_copy(&f->alloc, name, strlen(name));
    if (!copy)
        return found ? MCP_OK : MCP_ENOMEM;
    memmove(f->entries + at + 1, f->entries + at, (f->count - at) * sizeof(*f->entries));
    f->entries[at] = (prompts_entry){.file = copy};
    f->count++;
    return MCP_OK;
}

typedef struct linux_dirent { /* the record that getdents64() writes */
    uint64_t ino;
    int64_t off;
    unsigned short reclen;
    unsigned char type;
    char name[];
} linux_dirent;

static int read_names(prompts_folder *f, int fd)
{
    _Alignas(linux_dirent) char buffer[8192];
    size_t seen = 0;
    for (long n; (n = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) != 0;) {
        if (n < 0)
            return errno == ENOENT ? MCP_OK : MCP_EIO;
        for (long at = 0; at < n;) {
            const linux_dirent *e = (const void *)(buffer + at);
            at += e->reclen;
            if (++seen > MOST_NAMES)
                return f->truncated = true, MCP_OK;
            if (e->type == DT_DIR || !is_prompt_file(e->name))
                continue;
            int rc = add_name(f, e->name);
            if (rc != MCP_OK)
                return rc;
        }
    }
    return MCP_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_stamp(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           same_time(a->st_mtim, b->st_mtim) && same_time(a->st_ctim, b->st_ctim);
}

/* Returns whether any later change would alter the stamp. File systems have coarse clocks, so a
 * second change shortly after the first may leave the stamp unchanged. */
static bool is_settled(const struct stat *st)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    time_t seconds = now.tv_sec - st->st_ctim.tv_sec;
    if (seconds < 0 || seconds > 1) /* if the clock runs ahead, the file is never settled */
        return seconds > 1;
    return seconds * 1000000000LL + now.tv_nsec - st->st_ctim.tv_nsec > SETTLED_NS;
}

static int set_fault(prompts_entry *e, const char *why)
{
    e->fault.line = 0;
    snprintf(e->fault.text, sizeof(e->fault.text), "%s", why);
    return MCP_EINVAL;
}

static bool real_path(int fd, char to[COMMON_PATH_MAX])
{
    char name[40];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(name, to, COMMON_PATH_MAX - 1);
    to[len > 0 ? len : 0] = '\0';
    return len > 0 && len < COMMON_PATH_MAX - 1;
}

/* Finds the path in the folder of what a link leads to, by whatever way: also from outside back into
 * the folder. A file whose own name is hidden is not served. */
static int resolve(common_beneath at, const char *file, char rel[COMMON_PATH_MAX])
{
    char folder[COMMON_PATH_MAX], real[COMMON_PATH_MAX];
    int fd = openat(at.fd, file, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return common_code_of_errno(errno);
    bool ok = real_path(fd, real) && real_path(at.fd, folder);
    close(fd);
    size_t len = ok ? strlen(folder) : 0;
    len -= len == 1; /* the top of the file system */
    if (!ok || strncmp(real, folder, len) != 0 || real[len] != '/' || strrchr(real, '/')[1] == '.')
        return MCP_EACCESS;
    snprintf(rel, COMMON_PATH_MAX, "%s", real + len + 1);
    return MCP_OK;
}

/* Opens the file without following links. A link is resolved to its real path first. */
static int open_entry(common_beneath at, prompts_entry *e, int *fd)
{
    char rel[COMMON_PATH_MAX];
    int rc = common_beneath_open(at, e->file, fd, &e->st);
    if (rc == COMMON_IS_LINK) {
        rc = resolve(at, e->file, rel);
        if (rc == MCP_OK)
            rc = common_beneath_open(at, rel, fd, &e->st);
        if (rc == COMMON_IS_LINK || rc == MCP_EACCESS)
            return set_fault(e, "the link does not point to a file in this folder");
    }
    if (rc == MCP_OK && !S_ISREG(e->st.st_mode)) {
        close(*fd);
        *fd = -1;
        rc = MCP_EACCESS;
    }
    if (rc == MCP_ENOMEM || rc == MCP_EFILES || rc == MCP_OK)
        return rc;
    return set_fault(e, rc == MCP_EACCESS ? "it is not a readable file" : mcp_error_text(rc));
}

static int read_bytes(int fd, prompts_entry *e, common_buffer *out)
{
    int rc = common_buffer_reserve(out, PROMPTS_MAX_BYTES + 1);
    while (rc == MCP_OK && out->len <= PROMPTS_MAX_BYTES) {
        ssize_t n = read(fd, out->ptr + out->len, PROMPTS_MAX_BYTES + 1 - out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return set_fault(e, strerror(errno));
        if (n == 0)
            break;
        out->len += (size_t)n;
    }
    return rc;
}

/* Returns the file's entry in the previous reading, or NULL. */
static const prompts_entry *entry_before(const prompts_folder *before, const char *file)
{
    bool found = false;
    size_t at = before ? place_of(before, file, &found) : 0;
    return found ? &before->entries[at] : NULL;
}

static bool same_fault(const prompts_entry *e, const prompts_entry *old)
{
    return old && old->invalid && old->fault.line == e->fault.line &&
           strcmp(old->fault.text, e->fault.text) == 0;
}

static void keep(prompts_entry *e, const prompts_entry *old)
{
    e->doc = old ? old->doc : NULL;
    e->borrowed = true;
}

static int parse_file(int fd, prompts_entry *e, const mcp_allocator *alloc)
{
    common_buffer bytes;
    common_buffer_init(&bytes, alloc);
    int rc = read_bytes(fd, e, &bytes);
    if (rc == MCP_OK)
        rc = prompts_parse((mcp_str){bytes.ptr, bytes.len}, e->file, alloc, &e->doc, &e->fault);
    common_buffer_free(&bytes);
    return rc;
}

static int read_entry(common_beneath at, prompts_entry *e, const prompts_entry *old, size_t *total,
                      const mcp_allocator *alloc)
{
    int fd = -1;
    int rc = open_entry(at, e, &fd);
    bool unchanged = rc == MCP_OK && old && old->settled && same_stamp(&old->st, &e->st);
    if (rc == MCP_OK && (uint64_t)e->st.st_size > PROMPTS_MAX_ALL_BYTES - *total)
        rc = set_fault(e, "the prompts have more than 16 MiB together");
    else if (rc == MCP_OK)
        *total += (size_t)e->st.st_size;
    e->settled = rc == MCP_OK && is_settled(&e->st);
    if (rc == MCP_OK && unchanged) {
        keep(e, old);
        e->invalid = old->invalid;
        e->fault = old->fault;
    } else if (rc == MCP_OK) {
        rc = parse_file(fd, e, alloc);
    }
    if (fd >= 0)
        close(fd);
    if (rc == MCP_EINVAL) {
        e->invalid = true;
        e->is_new = !same_fault(e, old);
        keep(e, old);
    }
    return rc == MCP_EINVAL ? MCP_OK : rc;
}

/* ---- folder ---------------------------------------------------------------------------------- */

static int read_all(prompts_folder *f, int fd, const prompts_folder *before)
{
    common_beneath at = {.fd = fd, .walk = common_beneath_needs_walk(fd)};
    size_t total = 0;
    int rc = read_names(f, fd);
    for (size_t i = 0; rc == MCP_OK && i < f->count; i++) {
        prompts_entry *e = &f->entries[i];
        rc = read_entry(at, e, entry_before(before, e->file), &total, &f->alloc);
    }
    return rc;
}

int prompts_folder_read(const char *path, const prompts_folder *before, const mcp_allocator *alloc,
                        prompts_folder **ret, int *why)
{
    mcp_allocator a = common_allocator(alloc);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        *why = errno;
        return common_code_of_errno(errno);
    }
    prompts_folder *f = common_alloc(&a, sizeof(*f));
    int rc = f ? MCP_OK : MCP_ENOMEM;
    if (f) {
        *f = (prompts_folder){.alloc = a};
        f->entries = common_alloc(&a, PROMPTS_MAX_FILES * sizeof(*f->entries));
        rc = f->entries ? read_all(f, fd, before) : MCP_ENOMEM;
    }
    close(fd);
    *why = rc == MCP_EIO ? EIO : 0;
    if (rc == MCP_OK)
        *ret = f;
    else
        prompts_folder_free(f);
    return rc;
}

void prompts_folder_adopt(prompts_folder *f)
{
    for (size_t i = 0; i < f->count; i++) {
        if (f->entries[i].borrowed && f->entries[i].doc)
            prompts_document_ref(f->entries[i].doc);
        f->entries[i].borrowed = false;
    }
}

void prompts_folder_free(prompts_folder *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->count; i++) {
        if (!f->entries[i].borrowed)
            prompts_document_unref(f->entries[i].doc);
        common_release(&f->alloc, f->entries[i].file);
    }
    mcp_allocator a = f->alloc;
    common_release(&a, f->entries);
    common_release(&a, f);
}
