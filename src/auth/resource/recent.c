/* recent.c: see recent.h. */
#include "auth/resource/resource.h"

#if defined(__GNUC__) || defined(__clang__)
/* Makes the compiler compute `value` here, without assumptions about it. */
#define KEEP(value) __asm__ volatile("" : "+r"(value))
#else
#define KEEP(value) (void)(*(volatile uint64_t *)&(value) = (value))
#endif

static uint64_t word_at(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    return word;
}

/* Compares two texts of the same length, in a time that depends only on the length. CRYPTO_memcmp()
 * compares single bytes, which would take half as long as a hash. */
static bool is_same(const char *a, const char *b, size_t len)
{
    uint64_t differs = 0;
    size_t i = 0;
    for (; len - i >= 16; i += 16) {
        differs |= word_at(a + i) ^ word_at(b + i);
        differs |= word_at(a + i + 8) ^ word_at(b + i + 8);
        KEEP(differs);
    }
    for (; i < len; i++) {
        differs |= (uint64_t)(unsigned char)(a[i] ^ b[i]);
        KEEP(differs);
    }
    return differs == 0;
}

mcp_identity *mcp__rs_recall(mcp_resource_server *rs, const mcp__rs_recent *recent,
                             const mcp__rs_view *view, mcp_str header)
{
    if (!recent || !header.len || recent->header.len != header.len ||
        recent->view != mcp__rs_view_number(view) ||
        !is_same(recent->header.ptr, header.ptr, header.len))
        return NULL;
    const mcp__rs_known *known =
        mcp__token_cache_again(rs->known, recent->entry, recent->generation, mcp__rs_wall(rs));
    rs->usage.known += known != NULL;
    return known ? known->identity : NULL;
}

void mcp__rs_recent_clear(mcp__rs_recent *recent, const mcp_allocator *allocator)
{
    char *text = (char *)(uintptr_t)recent->header.ptr;
    mcp__wipe(text, recent->header.len);
    mcp__release(allocator, text);
    *recent = (mcp__rs_recent){0};
}

void mcp__rs_remember(mcp_resource_server *rs, const mcp__rs_question *question,
                      const mcp__token_id *id)
{
    mcp__rs_recent *recent = question->recent;
    mcp_str header = question->authorization;
    if (!recent)
        return;
    if (recent->header.len != header.len)
        mcp__rs_recent_clear(recent, question->allocator);
    if (header.len > MCP__RS_RECENT)
        return;
    char *text = (char *)(uintptr_t)recent->header.ptr;
    if (!text && !(text = mcp__alloc(question->allocator, header.len)))
        return; /* the next request is looked up, too */
    memcpy(text, header.ptr, header.len);
    recent->header = (mcp_str){text, header.len};
    recent->view = mcp__rs_view_number(question->view);
    recent->entry = mcp__token_cache_entry(rs->known, id, &recent->generation);
}
