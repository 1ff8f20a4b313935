/* fuzz_git_pack.c: hostile loose objects, packs and pack indexes. For any input the reads end, an
 * object has the length that its header states, and memory stays within the limit.
 *
 * The input is a list of parts. Each begins with a letter and ends with "|||":
 *   l  the bytes of a loose object's file
 *   L  a loose object, which is deflated here
 *   e  an entry of a pack: a byte for its type, a byte for its base, a byte that is added to its
 *      size, then its text, which is deflated here
 *   r  bytes that follow in the pack as they are
 *   x  bytes of the index, written from the offset in the first two bytes
 */
#define _GNU_SOURCE
#include "git_top.h"

enum { MAX_PARTS = 16 };

static const git_oid loose_id = {{0xaa, 1}};

static git_oid entry_id(size_t i)
{
    return (git_oid){{0xbb, (unsigned char)i}};
}

static void put_entry(craft_pack *p, mcp_str part)
{
    if (part.len < 3)
        return;
    const unsigned char *at = (const unsigned char *)part.ptr;
    git_oid id = entry_id(p->n), base = entry_id(at[1] % 32);
    uint64_t distance = p->n ? p->bytes.len - p->at[at[1] % p->n] : at[1];
    craft_entry(p, &id, at[0] & 7, part.len - 3 + at[2], distance, &base);
    craft_deflate(&p->bytes, part.ptr + 3, part.len - 3, 0);
}

static void put_loose(mcp_str part, bool deflated)
{
    craft_bytes file = {0};
    if (deflated)
        craft_deflate(&file, part.ptr, part.len, 0);
    else
        craft_put(&file, part.ptr, part.len);
    craft_loose(git, &loose_id, file.ptr, file.len);
    craft_free(&file);
}

static void put_index(mcp_str part)
{
    char path[PATH_MAX + 32];
    if (part.len < 3)
        return;
    snprintf(path, sizeof(path), "%s/objects/pack/pack-1.idx", git);
    FILE *f = fopen(path, "r+b");
    long at = (unsigned char)part.ptr[0] << 8 | (unsigned char)part.ptr[1];
    craft_need(f && fseek(f, at, SEEK_SET) == 0);
    craft_need(fwrite(part.ptr + 2, 1, part.len - 2, f) == part.len - 2 && fclose(f) == 0);
}

static size_t cut(mcp_str input, mcp_str part[MAX_PARTS])
{
    size_t n = 0;
    while (input.len && n < MAX_PARTS) {
        const char *end = memmem(input.ptr, input.len, "|||", 3);
        size_t len = end ? (size_t)(end - input.ptr) : input.len;
        if (len)
            part[n++] = (mcp_str){input.ptr, len};
        len += end ? 3 : 0;
        input = (mcp_str){input.ptr + len, input.len - len};
    }
    return n;
}

static void put_all(mcp_str input)
{
    static craft_pack pack;
    mcp_str part[MAX_PARTS];
    size_t n = cut(input, part);
    craft_pack_begin(&pack);
    for (size_t i = 0; i < n; i++) {
        mcp_str text = {part[i].ptr + 1, part[i].len - 1};
        switch (*part[i].ptr) {
        case 'l': put_loose(text, false); break;
        case 'L': put_loose(text, true); break;
        case 'e': put_entry(&pack, text); break;
        case 'r': craft_put(&pack.bytes, text.ptr, text.len); break;
        default:;
        }
    }
    craft_pack_end(&pack, git);
    for (size_t i = 0; i < n; i++)
        if (*part[i].ptr == 'x')
            put_index((mcp_str){part[i].ptr + 1, part[i].len - 1});
}

/* ---- invariants ------------------------------------------------------------------------------ */

static void look_at_all(repo_layout *l, bool near)
{
    repo_use u;
    if (repo_use_begin(&u, l, NULL, near, 5000) != MCP_OK)
        abort();
    look(&u, loose_id);
    for (size_t i = 0; i < MAX_PARTS; i++)
        look(&u, entry_id(i));
    repo_use_end(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_error error;
    repo_layout *l;
    if (!*top)
        make_top();
    put_all((mcp_str){(const char *)data, size});
    if (repo_layout_open(git, NULL, &alloc, &l, &error) != MCP_OK)
        abort();
    look_at_all(l, true);
    look_at_all(l, false);
    repo_layout_release(l);
    if (live)
        abort();
    return 0;
}
