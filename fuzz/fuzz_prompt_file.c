/* fuzz_prompt_file.c: a prompt file. If it is accepted, it has a name, messages with valid pieces,
 * and arguments with different names. Otherwise there is an error that states a line of the file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <document.h>

static void require(int condition)
{
    if (!condition)
        abort();
}

static void look_at_pieces(const prompts_document *d)
{
    size_t resources = 0;
    require(d->n_pieces > 0 && d->pieces[0].begins);
    for (size_t i = 0; i < d->n_pieces; i++) {
        const prompts_piece *p = &d->pieces[i];
        require(p->role == MCP_ROLE_USER || p->role == MCP_ROLE_ASSISTANT);
        require(p->begins || p->role == p[-1].role);
        if (p->kind == PROMPTS_VALUE) {
            require(p->argument < d->n_arguments);
            continue;
        }
        volatile char sink = p->text.len ? p->text.ptr[0] ^ p->text.ptr[p->text.len - 1] : 0;
        (void)sink;
        require(p->text.len > 0 && !memchr(p->text.ptr, '\0', p->text.len));
        if (p->kind != PROMPTS_RESOURCE)
            continue;
        resources++;
        require(p->begins && strlen(p->text.ptr) == p->text.len);
        require(i + 1 == d->n_pieces || p[1].begins);
    }
    require(resources == d->n_resources && resources <= PROMPTS_MAX_RESOURCES);
}

static void look_at(const prompts_document *d)
{
    require(d->name && *d->name && strlen(d->name) <= PROMPTS_MAX_NAME);
    require(d->n_arguments <= PROMPTS_MAX_ARGUMENTS && d->n_icons <= PROMPTS_MAX_ICONS);
    for (size_t i = 0; i < d->n_arguments; i++) {
        const prompts_argument *a = &d->arguments[i];
        require(a->name && *a->name && a->n_choices <= PROMPTS_MAX_CHOICES);
        for (size_t j = 0; j < i; j++)
            require(strcmp(a->name, d->arguments[j].name) != 0);
        for (size_t j = 0; j < a->n_choices; j++)
            require(a->choices[j].len <= PROMPTS_MAX_TEXT);
    }
    require(prompts_document_same_entry(d, d));
    look_at_pieces(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prompts_document *d = NULL;
    prompts_fault fault = {0};
    int rc = prompts_parse((mcp_str){(const char *)data, size}, "file.md", NULL, &d, &fault);
    if (rc == MCP_OK) {
        look_at(d);
        prompts_document_unref(d);
        return 0;
    }
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    require(rc == MCP_EINVAL && fault.line >= 1 && fault.line <= lines + 1 && fault.text[0]);
    return 0;
}
