/* proof.c: checks proofs of possession (RFC 9449): first the signature, on a worker thread, and
 * then the table of used proofs. */
#include "auth/resource/resource.h"

static void check_proof(mcp__rs_job *job)
{
    mcp__rs_login *login = mcp__container(job, mcp__rs_login, job);
    const mcp_resource_server *rs = job->rs;
    const mcp__rs_question *question = &login->question;
    mcp__dpop_request request = {
        .method = mcp_str_from(question->method),
        .url = mcp_str_from(question->url ? question->url : mcp__rs_resource(rs, question->view)),
        .token = login->texts[0],
        .jkt = mcp_str_from(login->known.jkt),
        .now = login->now,
        .nonce_keys = (const unsigned char(*)[MCP__SHA256])rs->nonce_keys,
        .n_nonce_keys = rs->n_nonce_keys,
    };
    bool several = mcp_str_eq(login->texts[1], MCP_STR("\n"));
    size_t n = several ? 2 : login->texts[1].len > 0;
    login->why =
        mcp__dpop_check(&rs->crypto, &request, &login->texts[1], n, rs->allocator, &login->proof);
}

/* Refuses a proof that was used before. If there is no memory for the table, refuses every
 * proof. */
static mcp__refused check_use(mcp_resource_server *rs, const mcp__rs_login *login)
{
    uint64_t seed;
    if (!rs->proofs &&
        (rs->host.random(&seed, sizeof(seed), rs->host.user) != MCP_OK ||
         mcp__replay_new(rs->options.max_proofs, seed, rs->allocator, &rs->proofs) != MCP_OK))
        return MCP__REFUSED_NO_MEMORY;
    return mcp__replay_used(rs->proofs, &login->proof, mcp__rs_wall(rs)) ? MCP__REFUSED_PROOF_REPLAY
                                                                         : MCP__ACCEPTED;
}

static void checked(mcp__rs_job *job, bool ran)
{
    mcp__rs_login *login = mcp__container(job, mcp__rs_login, job);
    mcp_resource_server *rs = job->rs;
    mcp__refused why = ran ? login->why : MCP__REFUSED_BUSY;
    if (!rs->freed) {
        rs->usage.verified += ran;
        if (why == MCP__ACCEPTED)
            why = check_use(rs, login);
        if (mcp__rs_is_fault(why))
            mcp__rs_address_failed(rs, job->address);
    }
    mcp__rs_login_finish(login, why, 1);
}

void mcp__rs_prove(mcp__rs_login *login)
{
    mcp_resource_server *rs = login->job.rs;
    unsigned retry_s = 1;
    if (mcp__rs_address_is_blocked(rs, login->job.address, &retry_s)) {
        mcp__rs_login_finish(login, MCP__REFUSED_THROTTLED, retry_s);
        return;
    }
    login->now = mcp__rs_wall(rs);
    login->job.run = check_proof;
    login->job.done = checked;
    mcp__rs_job_start(&login->job);
}
