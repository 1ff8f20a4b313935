/* test_changes.c: notifications when prompt files change, and allocation failures. */
#define _GNU_SOURCE
#include "prompts_rig.h"

/* ---- changes --------------------------------------------------------------------------------- */

static void changes_are_told_once(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "b.md", "b");
    open_peer(p);
    listen(p);
    tree_file(&p->folder, "a.md", "a");
    tree_file(&p->folder, "c.md", "c");
    tree_file(&p->folder, "notes.txt", "x");
    wait_a_little(p, 100);
    assert_int_equal(p->notices, 1);
    expect(ask(p, "prompts/list", ""), "[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]");
    /* a change of the text alone */
    tree_file(&p->folder, "b.md", "other");
    wait_a_little(p, 100);
    assert_int_equal(p->notices, 1);
    expect(get(p, "b", ""), "\"text\":\"other\"");
    /* a change that is visible in a list */
    tree_file(&p->folder, "b.md", "---\ntitle: T\n---\nother");
    wait_a_little(p, 100);
    assert_int_equal(p->notices, 2);
    expect(ask(p, "prompts/list", ""),
           "[{\"name\":\"a\"},{\"name\":\"b\",\"title\":\"T\"},{\"name\":\"c\"}]");
    /* an unrelated file */
    tree_file(&p->folder, "notes.txt", "y");
    wait_a_little(p, 100);
    assert_int_equal(p->notices, 2);
    /* a file is replaced by rename, as editors do */
    tree_file(&p->folder, "b.md~tmp", "renamed");
    assert_int_equal(rename(tree_at(&p->folder, "b.md~tmp"), tree_at(&p->folder, "b.md")), 0);
    assert_int_equal(unlink(tree_at(&p->folder, "a.md")), 0);
    wait_a_little(p, 100);
    assert_int_equal(p->notices, 3);
    expect(ask(p, "prompts/list", ""), "[{\"name\":\"b\"},{\"name\":\"c\"}]");
    expect(get(p, "b", ""), "\"text\":\"renamed\"");
    close_peer(p);
}

static void a_bad_file_keeps_its_last_state(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "a.md", "good");
    open_peer(p);
    listen(p);
    assert_int_equal(p->host.warnings, 0);
    tree_file(&p->folder, "a.md", "bad {{x}}");
    wait_a_little(p, 100);
    assert_int_equal(p->host.warnings, 1);
    assert_int_equal(p->notices, 0);
    expect(get(p, "a", ""), "\"text\":\"good\"");
    tree_file(&p->folder, "b.md", "new");
    wait_a_little(p, 100);
    assert_int_equal(p->host.warnings, 1); /* the warning is not repeated */
    tree_file(&p->folder, "a.md", "better");
    wait_a_little(p, 100);
    expect(get(p, "a", ""), "\"text\":\"better\"");
    close_peer(p);
}

static void a_name_that_is_freed_is_taken(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "a.md", "---\nname: n\n---\nfirst");
    tree_file(&p->folder, "b.md", "---\nname: n\n---\nsecond");
    open_peer(p);
    listen(p);
    assert_int_equal(p->host.warnings, 1);
    expect(get(p, "n", ""), "first");
    assert_int_equal(unlink(tree_at(&p->folder, "a.md")), 0);
    wait_a_little(p, 100);
    expect(get(p, "n", ""), "second");
    assert_int_equal(p->notices, 0); /* the entry in the list is unchanged */
    close_peer(p);
}

/* A volume of Kubernetes: an update replaces the link "..data", and no prompt's own link. */
static void a_volume_is_updated(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "..v1/a.md", "first");
    tree_file(&p->folder, "..v2/a.md", "the second");
    tree_link(&p->folder, "..data", "..v1");
    tree_link(&p->folder, "..tmp", "..v2");
    tree_link(&p->folder, "a.md", "..data/a.md");
    open_peer(p);
    expect(get(p, "a", ""), "\"text\":\"first\"");
    char from[200];
    snprintf(from, sizeof(from), "%s", tree_at(&p->folder, "..tmp"));
    assert_int_equal(rename(from, tree_at(&p->folder, "..data")), 0);
    wait_a_little(p, 100);
    expect(get(p, "a", ""), "\"text\":\"the second\"");
    close_peer(p);
}

static void polling_does_it_too(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "a.md", "a");
    p->host.deaf = true;
    fakehost_init(&p->host);
    p->host.deaf = true;
    make_server(p, &p->host.host, NULL);
    mcp_error error;
    assert_int_equal(
        mcp_prompts_add(p->server,
                        MCP_OPTIONS(mcp_prompts_options, .folder = p->folder.path, .poll_ms = 20),
                        &p->prompts, &error),
        MCP_OK);
    assert_int_equal(mcp_server_connect(p->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p),
                                        &p->channel, &error),
                     MCP_OK);
    tree_file(&p->folder, "b.md", "b");
    wait_a_little(p, 60);
    expect(ask(p, "prompts/list", ""), "[{\"name\":\"a\"},{\"name\":\"b\"}]");
    close_peer(p);
}

static void a_folder_that_is_replaced(void **state)
{
    peer *p = new_peer();
    char old[128];
    (void)state;
    tree_file(&p->folder, "a.md", "a");
    open_peer(p);
    snprintf(old, sizeof(old), "%s-old", p->folder.path);
    assert_int_equal(rename(p->folder.path, old), 0);
    wait_a_little(p, 120);
    assert_int_equal(p->host.warnings, 1);
    /* the folder may be back in a moment, so the prompts are kept */
    expect(get(p, "a", ""), "\"text\":\"a\"");
    assert_int_equal(mkdir(p->folder.path, 0700), 0);
    tree_file(&p->folder, "b.md", "b");
    wait_a_little(p, 200);
    expect(ask(p, "prompts/list", ""), "[{\"name\":\"b\"}]");
    tree_file(&p->folder, "c.md", "c"); /* the new folder is watched */
    wait_a_little(p, 100);
    expect(ask(p, "prompts/list", ""), "[{\"name\":\"b\"},{\"name\":\"c\"}]");
    tree gone = {0};
    strcpy(gone.path, old);
    tree_remove(&gone);
    close_peer(p);
}

static void names_of_others_are_theirs(void **state)
{
    peer *p = new_peer();
    (void)state;
    mcp_error error;
    tree_file(&p->folder, "a.md", "mine");
    tree_file(&p->folder, "b.md", "mine");
    fakehost_init(&p->host);
    make_server(p, &p->host.host, NULL);
    assert_int_equal(mcp_prompts_add(p->server,
                                     MCP_OPTIONS(mcp_prompts_options, .folder = p->folder.path,
                                                 .no_watch = true),
                                     &p->prompts, &error),
                     MCP_OK);
    mcp_prompts *second = NULL;
    assert_int_equal(mcp_prompts_add(p->server,
                                     MCP_OPTIONS(mcp_prompts_options, .folder = p->folder.path,
                                                 .no_watch = true),
                                     &second, &error),
                     MCP_OK);
    assert_int_equal(p->host.warnings, 2);
    mcp_prompts_free(second); /* does not remove the prompts of the first folder */
    assert_int_equal(mcp_server_remove_prompt(p->server, "a"), MCP_OK);
    close_peer(p);
}

static void a_folder_that_is_not_there(void **state)
{
    peer *p = new_peer();
    (void)state;
    mcp_error error = {0};
    make_server(p, NULL, NULL);
    assert_int_equal(mcp_prompts_add(p->server,
                                     MCP_OPTIONS(mcp_prompts_options, .folder = "/none/such"),
                                     &p->prompts, &error),
                     MCP_ENOTFOUND);
    assert_string_equal(error.text, "/none/such: No such file or directory");
    assert_int_equal(mcp_prompts_add(p->server, MCP_OPTIONS(mcp_prompts_options, .folder = ""),
                                     &p->prompts, &error),
                     MCP_EINVAL);
    close_peer(p);
}

/* Each allocation fails once while prompts are added, read with resources, completed and freed. */
static void without_memory(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "a.md",
              "---\narguments:\n  - name: x\n    complete: [y]\n---\n{{x}}\n"
              "{{resource: mem:text}}\n{{resource: mem:blob}}");
    tree_file(&p->folder, "b.md", "b");
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp_error error;
        fakehost_init(&p->host);
        make_server(p, &p->host.host, NULL);
        mcp_prompts *prompts = NULL;
        int rc = mcp_prompts_add(
            p->server, MCP_OPTIONS(mcp_prompts_options, .folder = p->folder.path, .allocator = &a),
            &prompts, &error);
        if (rc == MCP_OK) {
            assert_int_equal(
                mcp_server_connect(p->server,
                                   MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p),
                                   &p->channel, &error),
                MCP_OK);
            const char *reply = get(p, "a", "\"x\":\"1\"");
            if (f.calls < n)
                expect(reply, "\"blob\":\"AAH/\"");
            else
                assert_true(strstr(reply, "blob") || strstr(reply, "error"));
            mcp_channel_free(p->channel);
            p->channel = NULL;
        } else {
            assert_int_equal(rc, MCP_ENOMEM);
        }
        mcp_prompts_free(prompts);
        mcp_server_free(p->server);
        p->server = NULL;
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
    close_peer(p);
}

/* The same for the allocator of the server, from which requests and channels are allocated. */
static void without_memory_of_the_server(void **state)
{
    peer *p = new_peer();
    mcp_error error;
    (void)state;
    /* So many references that the first block of the request's memory is too small. */
    char text[2000] = "---\narguments:\n  - name: x\n---\n{{x}}\n{{resource: mem:blob}}\n";
    for (int i = 0; i < 31; i++)
        strcat(text, "{{resource: mem:text}}\n");
    tree_file(&p->folder, "a.md", text);
    for (size_t n = 1;; n++) {
        failalloc f = {0}, own = {0};
        mcp_allocator a = failalloc_allocator(&f), b = failalloc_allocator(&own);
        fakehost_init(&p->host);
        make_server(p, &p->host.host, &a);
        assert_int_equal(mcp_prompts_add(p->server,
                                         MCP_OPTIONS(mcp_prompts_options, .allocator = &b,
                                                     .folder = p->folder.path),
                                         &p->prompts, &error),
                         MCP_OK);
        assert_int_equal(
            mcp_server_connect(p->server, MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p),
                               &p->channel, &error),
            MCP_OK);
        f.fail_at = f.calls + n;
        get(p, "a", "\"x\":\"1\"");
        bool whole = f.calls < f.fail_at;
        if (whole)
            expect(p->reply, "\"blob\":\"AAH/\"");
        mcp_channel_free(p->channel);
        mcp_prompts_free(p->prompts);
        mcp_server_free(p->server);
        p->channel = NULL, p->prompts = NULL, p->server = NULL;
        assert_int_equal(f.live, 0);
        assert_int_equal(own.live, 0);
        if (whole)
            break;
    }
    close_peer(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_told_once),
        cmocka_unit_test(a_bad_file_keeps_its_last_state),
        cmocka_unit_test(a_name_that_is_freed_is_taken),
        cmocka_unit_test(a_volume_is_updated),
        cmocka_unit_test(polling_does_it_too),
        cmocka_unit_test(a_folder_that_is_replaced),
        cmocka_unit_test(names_of_others_are_theirs),
        cmocka_unit_test(a_folder_that_is_not_there),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(without_memory_of_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
