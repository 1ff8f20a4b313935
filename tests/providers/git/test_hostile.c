/* Hostile repositories: objects with wrong lengths, deltas that read outside of their base or refer
 * to themselves, bases that would exhaust the memory. Each gives an error, immediately and within
 * the memory limit, and no slow work runs on the server's thread. After a change of any byte of a
 * valid repository, the result is an error or the original contents. */
#define _GNU_SOURCE
#include "repository.h"

#include <reader.h>

#include "craft.h"
#include "gitalloc.h"

enum { MIB = 1 << 20, SLOW_MS = 8000, MOST = 8 * MIB };

static peer p;
static char git[128];
static craft_pack pack;
static const git_oid x = {{0xaa, 1}}, y = {{0xbb, 2}}, z = {{0xcc, 3}};

/* ---- the most memory that was used at once --------------------------------------------------- */

static atomic_size_t live, most;

static void *counted(void *block)
{
    size_t now_live = atomic_fetch_add(&live, block ? malloc_usable_size(block) : 0) +
                      (block ? malloc_usable_size(block) : 0) + atomic_load(&gitalloc.bytes);
    if (now_live > atomic_load(&most))
        atomic_store(&most, now_live);
    return block;
}

static void *ours_allocate(size_t size, void *user)
{
    (void)user;
    return counted(malloc(size ? size : 1));
}

static void ours_release(void *block, void *user)
{
    (void)user;
    atomic_fetch_sub(&live, block ? malloc_usable_size(block) : 0);
    free(block);
}

static void *ours_resize(void *block, size_t size, void *user)
{
    void *grown = ours_allocate(size, user);
    if (grown && block) {
        size_t before = malloc_usable_size(block);
        memcpy(grown, block, before < size ? before : size);
        ours_release(block, user);
    }
    return grown;
}

static const mcp_allocator alloc = {ours_allocate, ours_resize, ours_release, NULL};

/* ---- one repository at a time ---------------------------------------------------------------- */

static void new_repository(void)
{
    sh("rm -rf h; git init -q -b main h");
    snprintf(git, sizeof(git), "%s/h/.git", top);
}

static void open_peer(const mcp_host *host)
{
    if (peer_open(&p, "h", &(mcp_git_options){0}, host, &alloc) != MCP_OK)
        fail_msg("%s", p.error.text);
}

/* Reads the file "f" with that id, and checks how much memory it takes. */
static const char *read_file(const git_oid *id, size_t memory)
{
    craft_commit(git, id);
    open_peer(NULL);
    atomic_store(&most, 0);
    atomic_store(&gitalloc.peak, 0);
    size_t before = atomic_load(&live) + atomic_load(&gitalloc.bytes);
    int64_t began = now();
    /* reads a part, because the whole file may exceed the limit of one read */
    read_uri(&p, "h/HEAD/f?offset=0");
    int64_t took = now() - began;
    size_t used = atomic_load(&most) > before ? atomic_load(&most) - before : 0;
    size_t theirs = atomic_load(&gitalloc.peak);
    peer_close(&p);
    assert_true(took < SLOW_MS);
    if (used > memory || theirs > memory)
        fail_msg("%zu and %zu bytes of memory", used, theirs);
    return p.reply;
}

static void check(const char *what, const git_oid *id, const char *says)
{
    check_reply(what, read_file(id, MOST), (const char *const[5]){says});
}

#define DAMAGED   "damaged or missing"
#define TOO_LARGE "too large to be read"

/* ---- loose objects --------------------------------------------------------------------------- */

static void put_loose(const char *head, const char *text, uint64_t zeros)
{
    craft_bytes raw = {0}, file = {0};
    craft_put(&raw, head, strlen(head) + 1);
    craft_put(&raw, text, strlen(text));
    craft_deflate(&file, raw.ptr, raw.len, zeros);
    craft_loose(git, &x, file.ptr, file.len);
    craft_free(&raw);
    craft_free(&file);
}

static void test_loose_sizes(void **state)
{
    static const struct {
        const char *head, *text;
        uint64_t zeros;
        const char *says;
    } cases[] = {
        {"blob 10", "", 30 * MIB, DAMAGED},
        {"blob 10", "0123456789A", 0, DAMAGED},
        {"blob 10", "012345678", 0, DAMAGED},
        {"blob 0", "0", 0, DAMAGED},
        {"blob 1", "0123456789012345678901234567890123456789", 0, DAMAGED},
        {"blob 9000000", "", 100, DAMAGED},
        {"blob 268435457", "", 3 * MIB, TOO_LARGE},
        {"blob 999999999999999999", "", 100, TOO_LARGE},
        {"blob 18446744073709551616", "", 0, DAMAGED},
        {"blob -1", "", 0, DAMAGED},
        {"blob ", "", 0, DAMAGED},
        {"blob", "", 0, DAMAGED},
        {"file 1", "0", 0, DAMAGED},
        {"", "", 0, DAMAGED},
        {"blob 1", "0", 0, DAMAGED}, /* its name is the id of another object */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        new_repository();
        put_loose(cases[i].head, cases[i].text, cases[i].zeros);
        size_t memory = strstr(cases[i].head, "9000000") ? 10 * (size_t)MIB : MOST;
        craft_commit(git, &x);
        check_reply(cases[i].head, read_file(&x, memory),
                    (const char *const[5]){cases[i].says, "-32603"});
    }
}

/* The file is truncated at any position, or followed by other bytes. */
static void test_loose_length(void **state)
{
    static char text[600];
    craft_bytes raw = {0}, file = {0};
    git_oid id;
    (void)state;
    new_repository();
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(' ' + (i * i * 31 + i / 7) % 90);
    craft_put(&raw, "blob 600", 9);
    craft_put(&raw, text, sizeof(text));
    craft_deflate(&file, raw.ptr, raw.len, 0);
    assert_int_equal(git_odb_hash(&id, text, sizeof(text), GIT_OBJECT_BLOB), 0);
    craft_commit(git, &id);
    for (size_t len = 0; len < file.len; len += 1 + len / 40) {
        craft_loose(git, &id, file.ptr, len);
        check("cut", &id, DAMAGED);
    }
    craft_loose(git, &id, file.ptr, file.len);
    check("whole", &id, "\"text\":");
    craft_put(&file, "!", 1);
    craft_loose(git, &id, file.ptr, file.len);
    check("more", &id, DAMAGED);
    craft_free(&raw);
    craft_free(&file);
}

/* ---- packs ----------------------------------------------------------------------------------- */

static void put_stream(const void *text, size_t len, uint64_t zeros)
{
    craft_deflate(&pack.bytes, text, len, zeros);
}

static void put_delta(const git_oid *id, const git_oid *base, const craft_bytes *delta)
{
    craft_entry(&pack, id, CRAFT_REF, delta->len, 0, base);
    put_stream(delta->ptr, delta->len, 0);
}

static craft_bytes delta_of(uint64_t base, uint64_t result)
{
    craft_bytes d = {0};
    craft_size(&d, base);
    craft_size(&d, result);
    return d;
}

static void begin_pack(void)
{
    new_repository();
    craft_pack_begin(&pack);
}

/* A delta whose base is itself, two that are each other's base, and offsets before and after the
 * pack. */
static void test_cycles(void **state)
{
    craft_bytes d = delta_of(10, 10);
    (void)state;
    craft_copy(&d, 0, 10);
    begin_pack();
    put_delta(&x, &x, &d);
    craft_pack_end(&pack, git);
    check("itself", &x, DAMAGED);
    begin_pack();
    put_delta(&x, &y, &d);
    put_delta(&y, &x, &d);
    craft_pack_end(&pack, git);
    check("each other", &x, DAMAGED);
    static const uint64_t distances[] = {0, 1, 12, 13, 5000, UINT64_MAX / 2};
    for (size_t i = 0; i < sizeof(distances) / sizeof(*distances); i++) {
        begin_pack();
        craft_entry(&pack, &x, CRAFT_OFS, d.len, distances[i], NULL);
        put_stream(d.ptr, d.len, 0);
        craft_pack_end(&pack, git);
        check("distance", &x, DAMAGED);
    }
    craft_free(&d);
}

/* Writes a chain of `links` deltas, each of which copies its base. */
static void put_chain(size_t links)
{
    craft_bytes d = delta_of(10, 10);
    craft_copy(&d, 0, 10);
    begin_pack();
    assert_int_equal(git_odb_hash(&pack.id[0], "0123456789", 10, GIT_OBJECT_BLOB), 0);
    const git_oid good = pack.id[0];
    craft_entry(&pack, links ? &y : &good, 3, 10, 0, NULL);
    put_stream("0123456789", 10, 0);
    for (size_t i = 1; i <= links; i++) {
        git_oid id = {{0}};
        memcpy(id.id, &i, sizeof(i));
        uint64_t distance = pack.bytes.len - pack.at[pack.n - 1];
        craft_entry(&pack, i == links ? &good : &id, CRAFT_OFS, d.len, distance, NULL);
        put_stream(d.ptr, d.len, 0);
    }
    craft_pack_end(&pack, git);
    check("chain", &good, links <= REPO_CHAIN ? "0123456789" : DAMAGED);
    craft_free(&d);
}

static void test_chains(void **state)
{
    static const size_t links[] = {0, 1, 2, 50, REPO_CHAIN, REPO_CHAIN + 1, CRAFT_ENTRIES - 1};
    (void)state;
    for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
        put_chain(links[i]);
}

/* The instructions of a delta, which follow its sizes. */
static void test_instructions(void **state)
{
    static const struct {
        uint64_t base, result;
        const char *bytes;
        size_t len;
    } cases[] = {
        {10, 10, "\xb0\xff\xff", 3}, /* copies 65,535 bytes from a base of ten */
        {10, 10, "\x80", 1},         /* copies 65,536 bytes: a size of 0 stands for that */
        {10, 10, "\x91\x05\x0a", 3}, /* copies ten bytes from offset 5 on */
        {10, 10, "\x9f\xff\xff\xff\xff\x01", 6}, /* an offset far beyond the base */
        {10, 10, "\x9f\xff\xff\xff\xff", 5},     /* the same, but the size is missing */
        {10, 10,
         "\x05"
         "abc",
         4}, /* fewer bytes than the instruction announces */
        {10, 10, "\x7f", 1},
        {10, 10, "\x00\x90\x0a", 3},     /* an invalid instruction */
        {10, 10, "\x90\x09", 2},         /* the result is too short */
        {10, 10, "\x90\x0a\x90\x0a", 4}, /* the result is too long */
        {10, 10, "\x90\x0a\x01z", 4},
        {10, 0, "\x90\x0a", 2},
        {10, 10, "", 0},
        {11, 11, "\x90\x0b", 2}, /* the header gives a wrong size of the base */
        {9, 9, "\x90\x09", 2},
        {10, 1ULL << 40, "\x90\x0a", 2},
        {1ULL << 40, 10, "\x90\x0a", 2},
        {10, UINT64_MAX >> 1, "\x90\x0a", 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        craft_bytes d = delta_of(cases[i].base, cases[i].result);
        craft_put(&d, cases[i].bytes, cases[i].len);
        begin_pack();
        craft_entry(&pack, &y, 3, 10, 0, NULL);
        put_stream("0123456789", 10, 0);
        put_delta(&x, &y, &d);
        craft_pack_end(&pack, git);
        bool huge = cases[i].result > REPO_OBJECT_MAX;
        check("instruction", &x, huge ? TOO_LARGE : DAMAGED);
        craft_free(&d);
    }
}

/* A delta that consists of two sizes without an end. */
static void test_sizes_of_deltas(void **state)
{
    static const char endless[40] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    (void)state;
    for (size_t len = 0; len < sizeof(endless); len += 3) {
        craft_bytes d = {0};
        craft_put(&d, endless, len);
        begin_pack();
        craft_entry(&pack, &y, 3, 10, 0, NULL);
        put_stream("0123456789", 10, 0);
        put_delta(&x, &y, &d);
        craft_pack_end(&pack, git);
        check("sizes", &x, DAMAGED);
        craft_free(&d);
    }
}

/* ---- bombs ----------------------------------------------------------------------------------- */

/* A small result from an enormous base. */
static void test_large_base(void **state)
{
    static const uint64_t sizes[] = {6ULL << 30, REPO_OBJECT_MAX + 1, UINT64_MAX >> 4};
    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        craft_bytes d = delta_of(sizes[i], 10);
        craft_copy(&d, 0, 10);
        begin_pack();
        craft_entry(&pack, &y, 3, sizes[i], 0, NULL);
        put_stream("", 0, 3 * MIB);
        put_delta(&x, &y, &d);
        craft_pack_end(&pack, git);
        check("base", &x, i == 2 ? "-32603" : TOO_LARGE);
        check("as it is", &y, i == 2 ? "-32603" : TOO_LARGE);
        craft_free(&d);
    }
}

/* Each delta doubles the size of its base, and the last one has a small result. */
static void test_growing_results(void **state)
{
    enum { DOUBLINGS = 20 };
    git_oid before = y;
    uint64_t size = MIB;
    (void)state;
    begin_pack();
    craft_entry(&pack, &y, 3, size, 0, NULL);
    put_stream("", 0, size);
    for (uint8_t i = 0; i < DOUBLINGS; i++, size *= 2) {
        craft_bytes d = delta_of(size, 2 * size);
        git_oid id = {{i}};
        for (uint64_t n = 0; n < 2 * size && n < 64ULL * MIB; n += MIB)
            craft_copy(&d, 0, MIB);
        put_delta(&id, &before, &d);
        before = id;
        craft_free(&d);
    }
    craft_bytes d = delta_of(size, 1);
    craft_copy(&d, 0, 1);
    put_delta(&x, &before, &d);
    craft_free(&d);
    craft_pack_end(&pack, git);
    craft_commit(git, &x);
    check_reply("growing", read_file(&x, 400 * (size_t)MIB), (const char *const[5]){"-32603"});
}

/* ---- indexes --------------------------------------------------------------------------------- */

static void test_indexes(void **state)
{
    char path[256];
    uint32_t seed = 1;
    (void)state;
    begin_pack();
    const git_oid ids[] = {x, y, z};
    for (size_t i = 0; i < 3; i++) {
        craft_entry(&pack, &ids[i], 3, 10, 0, NULL);
        put_stream("0123456789", 10, 0);
    }
    craft_bytes good = craft_index(&pack);
    craft_pack_end(&pack, git);
    snprintf(path, sizeof(path), "%s/objects/pack/pack-1.idx", git);
    for (size_t round = 0; round < 150; round++) {
        craft_bytes bad = {0};
        craft_put(&bad, good.ptr, good.len);
        for (int n = 0; n < 3; n++) { /* the counts, the offsets and the ids */
            seed = seed * 1664525U + 1013904223U;
            size_t at = seed >> 8;
            at = round % 2 ? at % bad.len : 8 + 1024 + at % (bad.len - 8 - 1024);
            bad.ptr[at] = (unsigned char)(seed >> 3);
        }
        craft_file(path, bad.ptr, round % 3 ? bad.len : (seed >> 4) % bad.len);
        check("index", &ids[round % 3], "-32603");
        craft_free(&bad);
    }
    craft_free(&good);
}

/* ---- any byte of a valid repository ---------------------------------------------------------- */

static const char *const read_all[] = {"h/HEAD/a",        "h/HEAD/d/b",   "h/v1/a",
                                       "h/HEAD/",         "h/-/log/HEAD", "h/-/diff/v1/HEAD",
                                       "h/-/blame/HEAD/a"};
enum { ALL = sizeof(read_all) / sizeof(*read_all) };

static void check_mutations(const char *files, size_t rounds)
{
    static char good[ALL][16 << 10];
    static unsigned char bytes[64 << 10];
    char command[256], path[512];
    uint32_t seed = 7;
    open_peer(NULL);
    for (size_t i = 0; i < ALL; i++)
        snprintf(good[i], sizeof(good[i]), "%s", read_uri(&p, read_all[i]));
    peer_close(&p);
    for (size_t round = 0; round < rounds; round++) {
        seed = seed * 1664525U + 1013904223U;
        snprintf(command, sizeof(command), "find h/.git/objects %s | sort | sed -n '%zup'", files,
                 1 + round % 12);
        const char *name = output_of(command);
        if (!*name)
            continue;
        snprintf(path, sizeof(path), "%s/%.400s", top, name);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        size_t len = fread(bytes, 1, sizeof(bytes), f);
        fclose(f);
        size_t at = (seed >> 5) % len;
        unsigned char was = bytes[at];
        bytes[at] ^= (unsigned char)(1 + (seed >> 24) % 255);
        craft_file(path, bytes, len);
        open_peer(NULL);
        for (size_t i = 0; i < ALL; i++)
            if (strcmp(read_uri(&p, read_all[i]), good[i]) != 0 && !strstr(p.reply, "\"error\""))
                fail_msg("%s: byte %zu of %s\n%s\n%s", read_all[i], at, name, p.reply, good[i]);
        peer_close(&p);
        bytes[at] = was;
        craft_file(path, bytes, len);
    }
}

static void test_mutations(void **state)
{
    (void)state;
    new_repository();
    sh("cd h; mkdir d; seq 200 >a; seq 300 >d/b; git add .; git commit -q -m one; git tag v1; "
       "sed -i 's/^7$/x/' a d/b; git commit -q -a -m two");
    check_mutations("-type f -not -name pack*", 40);
    sh("cd h; git gc -q --aggressive --prune=now; chmod -R u+w .git/objects");
    check_mutations("-name '*.pack'", 100);
    check_mutations("-name '*.idx'", 50);
}

/* ---- requests during slow work --------------------------------------------------------------- */

static struct {
    void (*work)(void *), (*done)(void *);
    void *arg;
} held;

static int hold(void (*work)(void *), void (*done)(void *), void *arg, void *user)
{
    (void)user;
    assert_null(held.work);
    held.work = work;
    held.done = done;
    held.arg = arg;
    return MCP_OK;
}

/* Slow work waits for a worker, and the server stays responsive. */
static void test_meanwhile(void **state)
{
    static const mcp_host host = {.size = sizeof(host), .work = hold};
    craft_bytes d = delta_of(30 * MIB, 10);
    git_oid id;
    (void)state;
    craft_copy(&d, 0, 10);
    begin_pack();
    craft_entry(&pack, &y, 3, 30 * MIB, 0, NULL);
    put_stream("", 0, 30 * MIB);
    assert_int_equal(git_odb_hash(&id, "\0\0\0\0\0\0\0\0\0\0", 10, GIT_OBJECT_BLOB), 0);
    put_delta(&id, &y, &d);
    craft_pack_end(&pack, git);
    craft_commit(git, &id);
    open_peer(&host);
    atomic_store(&most, 0);
    assert_string_equal(read_uri(&p, "h/HEAD/f"), "");
    assert_non_null(held.work);
    assert_true(atomic_load(&most) < MOST);
    peer_send(&p, 2, READ, "\"uri\":\"git://h/HEAD/\"");
    check_reply("folder", p.reply, (const char *const[5]){"\"id\":2", "\\\"entries\\\""});
    peer_send(&p, 3, READ, "\"uri\":\"git://h/HEAD/?limit=1&format=text\"");
    check_reply("text", p.reply, (const char *const[5]){"\"id\":3", "git://h/HEAD/f"});
    held.work(held.arg);
    held.done(held.arg);
    assert_non_null(strstr(p.reply, "\"blob\":\"AAAAAAAAAAAAAA==\""));
    peer_close(&p);
    craft_free(&d);
}

static int setup(void **state)
{
    (void)state;
    make_top();
    return git_libgit2_init() < 0;
}

static int teardown(void **state)
{
    (void)state;
    remove_top();
    craft_free(&pack.bytes);
    assert_int_equal(atomic_load(&live), 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loose_sizes),  cmocka_unit_test(test_loose_length),
        cmocka_unit_test(test_cycles),       cmocka_unit_test(test_chains),
        cmocka_unit_test(test_instructions), cmocka_unit_test(test_sizes_of_deltas),
        cmocka_unit_test(test_large_base),   cmocka_unit_test(test_growing_results),
        cmocka_unit_test(test_indexes),      cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_meanwhile),
    };
    gitalloc_install();
    return cmocka_run_group_tests(tests, setup, teardown);
}
