/* pack.c: see pack.h. */
#define _GNU_SOURCE
#include "pack.h"

#include "layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum {
    FAN = 256 * 4,
    HEAD_2 = 8,        /* header of an index of version 2, which precedes the fan-out table */
    ENTRY_1 = 4 + 20,  /* entry of version 1: offset and id */
    OTHERS_2 = 20 + 8, /* bytes per object in version 2: id, checksum, offset */
    SUMS = 40,         /* checksums at the end */
    BLOCK = 180,       /* ids per read */
    NAME = 200,        /* longest name of a pack without its folder */
};

static uint32_t number(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Reads exactly `len` bytes. Returns false if there are fewer. */
static bool read_at(int fd, void *to, size_t len, uint64_t at)
{
    ssize_t n;
    do
        n = pread(fd, to, len, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)len;
}

/* ---- finding packs --------------------------------------------------------------------------- */

static bool is_known(const repo_packs *packs, size_t place, const char *name)
{
    for (size_t i = 0; i < packs->n; i++)
        if (packs->pack[i]->place == place && strcmp(packs->pack[i]->name, name) == 0)
            return true;
    return false;
}

static int add(repo_layout *l, size_t place, const char *name)
{
    size_t len = strlen(name);
    if (is_known(&l->packs, place, name))
        return MCP_OK;
    if (l->packs.n == REPO_PACKS)
        return MCP_ELIMIT;
    repo_pack *p = common_alloc(&l->alloc, sizeof(*p) + len + 1);
    if (!p)
        return MCP_ENOMEM;
    memset(p, 0, sizeof(*p));
    p->place = place;
    p->index_fd = p->pack_fd = -1;
    memcpy(p->name, name, len + 1);
    l->packs.pack[l->packs.n++] = p;
    return MCP_OK;
}

static int look_in(repo_layout *l, size_t place)
{
    char name[NAME + 8];
    int rc = MCP_OK, fd = openat(l->objects[place], "pack", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 && repo_layout_is_within(l, fd) ? fdopendir(fd) : NULL;
    const struct dirent *e;
    if (!d) {
        rc = fd < 0 && common_code_of_errno(errno) == MCP_EFILES ? MCP_EFILES : MCP_OK;
        if (fd >= 0)
            close(fd);
        return rc; /* no packs, or the folder is outside */
    }
    while (rc == MCP_OK && (e = readdir(d))) {
        size_t len = strlen(e->d_name);
        if (len < 5 || len > NAME || strcmp(e->d_name + len - 4, ".idx") != 0)
            continue;
        snprintf(name, sizeof(name), "pack/%.*s", (int)(len - 4), e->d_name);
        rc = add(l, place, name);
    }
    closedir(d);
    return rc;
}

int repo_packs_look(repo_layout *l)
{
    int rc = MCP_OK;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; rc == MCP_OK && i < l->n_objects; i++)
        rc = look_in(l, i);
    pthread_mutex_unlock(&l->lock);
    return rc;
}

size_t repo_packs_count(repo_layout *l)
{
    pthread_mutex_lock(&l->lock);
    size_t n = l->packs.n;
    pthread_mutex_unlock(&l->lock);
    return n;
}

void repo_packs_free(repo_layout *l)
{
    while (l->packs.n) {
        repo_pack *p = l->packs.pack[--l->packs.n];
        if (p->is_open) {
            close(p->index_fd);
            close(p->pack_fd);
        }
        common_release(&l->alloc, p);
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Returns whether an index of this many objects can have this size. */
static bool fits(const repo_pack *p)
{
    uint64_t n = p->fan[255];
    if (p->version == 1)
        return p->index_size == FAN + n * ENTRY_1 + SUMS;
    uint64_t least = HEAD_2 + FAN + n * OTHERS_2 + SUMS;
    return p->index_size >= least && p->index_size <= least + n * 8;
}

static bool look_at_index(repo_pack *p, int fd)
{
    static const unsigned char magic[HEAD_2] = {0xff, 't', 'O', 'c', 0, 0, 0, 2};
    unsigned char head[HEAD_2 + FAN];
    if (p->index_size < sizeof(head) || !read_at(fd, head, sizeof(head), 0))
        return false;
    p->version = memcmp(head, magic, HEAD_2) == 0 ? 2 : 1;
    const unsigned char *fan = head + (p->version == 2 ? HEAD_2 : 0);
    for (size_t i = 0; i < 256; i++) {
        p->fan[i] = number(fan + 4 * i);
        if (i && p->fan[i] < p->fan[i - 1])
            return false;
    }
    return fits(p);
}

static bool look_at_pack(const repo_pack *p, int fd)
{
    unsigned char head[REPO_PACK_HEAD];
    return p->pack_size >= REPO_PACK_HEAD + REPO_PACK_TAIL && read_at(fd, head, sizeof(head), 0) &&
           memcmp(head, "PACK", 4) == 0 && (number(head + 4) == 2 || number(head + 4) == 3);
}

static int open_file(const repo_layout *l, const repo_pack *p, const char *ending, int *ret,
                     uint64_t *size)
{
    char name[NAME + 16];
    struct stat st;
    snprintf(name, sizeof(name), "%s%s", p->name, ending);
    int rc = repo_layout_open_file(l, p->place, name, ret, &st);
    *size = rc == MCP_OK ? (uint64_t)st.st_size : 0;
    return rc;
}

static int open_files(const repo_layout *l, repo_pack *p, repo_pack_files *ret)
{
    uint64_t index_size, pack_size;
    int rc = open_file(l, p, ".idx", &ret->index, &index_size);
    if (rc != MCP_OK)
        return rc;
    rc = open_file(l, p, ".pack", &ret->data, &pack_size);
    if (rc != MCP_OK) {
        close(ret->index);
        return rc;
    }
    if (!p->looked_at) {
        p->index_size = index_size;
        p->pack_size = pack_size;
        p->ok = look_at_index(p, ret->index) && look_at_pack(p, ret->data);
        p->looked_at = true;
    }
    if (p->ok && p->index_size == index_size && p->pack_size == pack_size)
        return MCP_OK;
    close(ret->index);
    close(ret->data);
    return MCP_EIO;
}

static int open_locked(repo_layout *l, repo_pack *p, repo_pack_files *ret)
{
    if (p->looked_at && !p->ok)
        return MCP_EIO;
    ret->index = p->index_fd;
    ret->data = p->pack_fd;
    int rc = p->is_open ? MCP_OK : open_files(l, p, ret);
    if (rc == MCP_OK && !p->is_open && l->packs.n_open < REPO_PACKS_OPEN) {
        p->is_open = true;
        p->index_fd = ret->index;
        p->pack_fd = ret->data;
        l->packs.n_open++;
    }
    return rc;
}

int repo_pack_open(repo_layout *l, size_t i, repo_pack_files *ret)
{
    pthread_mutex_lock(&l->lock);
    repo_pack *p = l->packs.pack[i];
    int rc = open_locked(l, p, ret);
    ret->pack = p;
    ret->borrowed = p->is_open;
    pthread_mutex_unlock(&l->lock);
    return rc;
}

void repo_pack_close(repo_pack_files *f)
{
    if (f->borrowed)
        return;
    close(f->index);
    close(f->data);
}

/* ---- finding --------------------------------------------------------------------------------- */

static uint64_t place_of_id(const repo_pack *p, uint64_t i)
{
    return p->version == 1 ? FAN + i * ENTRY_1 + 4 : HEAD_2 + FAN + i * GIT_OID_RAWSZ;
}

/* Finds the first object whose id is not less than `id`. The last steps of the binary search run in
 * memory, on one block. */
static bool seek(const repo_pack_files *f, const git_oid *id, uint32_t *ret)
{
    unsigned char block[BLOCK * ENTRY_1], found[GIT_OID_RAWSZ];
    const repo_pack *p = f->pack;
    uint32_t low = id->id[0] ? p->fan[id->id[0] - 1] : 0, high = p->fan[id->id[0]];
    while (high - low > BLOCK) {
        uint32_t middle = low + (high - low) / 2;
        if (!read_at(f->index, found, sizeof(found), place_of_id(p, middle)))
            return false;
        if (memcmp(found, id->id, GIT_OID_RAWSZ) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t each = p->version == 1 ? ENTRY_1 : GIT_OID_RAWSZ, n = high - low;
    size_t len = n ? (n - 1) * each + GIT_OID_RAWSZ : 0;
    if (len && !read_at(f->index, block, len, place_of_id(p, low)))
        return false;
    for (size_t i = 0; i < n && memcmp(block + i * each, id->id, GIT_OID_RAWSZ) < 0; i++)
        low++;
    *ret = low;
    return true;
}

static bool id_at(const repo_pack_files *f, uint32_t i, git_oid *ret)
{
    return read_at(f->index, ret->id, GIT_OID_RAWSZ, place_of_id(f->pack, i));
}

/* Reads the offset of the i-th object. Offsets follow ids and checksums; large offsets are in
 * a second table. */
static bool offset_at(const repo_pack_files *f, uint32_t i, uint64_t *ret)
{
    const repo_pack *p = f->pack;
    unsigned char bytes[8];
    uint64_t n = p->fan[255], at = HEAD_2 + FAN + n * (GIT_OID_RAWSZ + 4) + 4 * (uint64_t)i;
    if (p->version == 1)
        at = FAN + (uint64_t)i * ENTRY_1;
    if (!read_at(f->index, bytes, 4, at))
        return false;
    *ret = number(bytes);
    if (p->version == 1 || !(*ret >> 31))
        return true;
    at = HEAD_2 + FAN + n * OTHERS_2 + 8 * (*ret & 0x7fffffff);
    if (at + 8 > p->index_size - SUMS || !read_at(f->index, bytes, 8, at))
        return false;
    *ret = (uint64_t)number(bytes) << 32 | number(bytes + 4);
    return true;
}

int repo_pack_find(const repo_pack_files *f, const git_oid *id, uint64_t *ret)
{
    const repo_pack *p = f->pack;
    git_oid found;
    uint32_t i;
    if (!seek(f, id, &i))
        return MCP_EIO;
    if (i == p->fan[255] || !id_at(f, i, &found))
        return i == p->fan[255] ? MCP_ENOTFOUND : MCP_EIO;
    if (!git_oid_equal(&found, id))
        return MCP_ENOTFOUND;
    if (!offset_at(f, i, ret))
        return MCP_EIO;
    return *ret >= REPO_PACK_HEAD && *ret < p->pack_size - REPO_PACK_TAIL ? MCP_OK : MCP_EIO;
}

int repo_pack_find_prefix(const repo_pack_files *f, const git_oid *prefix, size_t digits,
                          git_oid *ret)
{
    git_oid next;
    uint32_t i;
    if (!seek(f, prefix, &i))
        return MCP_EIO;
    if (i == f->pack->fan[255])
        return MCP_ENOTFOUND;
    if (!id_at(f, i, ret))
        return MCP_EIO;
    if (git_oid_ncmp(ret, prefix, digits) != 0)
        return MCP_ENOTFOUND;
    if (i + 1 < f->pack->fan[255] && id_at(f, i + 1, &next) &&
        git_oid_ncmp(&next, prefix, digits) == 0)
        return MCP_EEXIST;
    return MCP_OK;
}
