#!/usr/bin/env bats
# mcpctl, and with it the client library, against hostile servers over HTTP. It always ends in time
# and in bounded memory, with a clear message and status, and no server controls the terminal.

load support/hostile.bash

@test "over HTTP: the kinds of the stdio test" {
    # Over HTTP, a message that is too long ends only its response, and a truncated response does
    # not mean that the server ended. Ten thousand pages take too long.
    { messages | sed '/^huge\|^endless\|^empty-pages/d' && cat <<'KINDS'; } | table http
dies          | 3 | ended before the answer
half          | 3 | ended before the answer
stumbles      | 0 | mem:a
stumbles      | 3 | tools/call was not repeated | call --yes t
KINDS
}

@test "a server that refuses requests for now is asked again, and mcpctl says so" {
    listen busy-always
    run --separate-stderr "$MCPCTL" ls -s "$url"
    [ "$status" -eq 3 ]
    [ "$(grep -c 'HTTP status 429); it is asked again in 1 s' <<<"$stderr")" -eq 3 ]
}

@test "responses that are not valid HTTP" {
    table http <<'KINDS'
sse-comments       | 4 | no answer within
sse-line           | 4 | no answer within
sse-data           | 4 | no answer within
sse-ids            | 4 | no answer within
sse-empty          | 3 | ended before the answer
slow-headers       | 4 | no answer within
endless-headers    | 3 | the head of the answer is too large
endless-hints      | 3 | the head of the answer is too large
endless-status     | 3 | mcpctl: ls:
endless-body       | 4 | longer than 67108864 bytes
endless-chunks     | 4 | no answer within
loop               | 3 | redirects more than 5 times
to-file            | 3 | redirects to something that is no http
to-stranger        | 3 | redirects to another origin
html               | 3 | answered with text/html
no-type            | 3 | nothing else
many-types         | 3 | ended before the answer
bomb               | 4 | longer than 67108864 bytes
odd-encoding       | 3 | encoding
bad-chunk          | 3 | chunk
bad-length         | 3 | Content-Length
short              | 4 | longer than 67108864 bytes
two-lengths        | 3 | mcpctl: ls:
empty              | 3 | does not contain the answer
accepted           | 3 | 202
nothing            | 3 | 204
odd-status         | 3 | 999
long-error         | 3 | 500
busy               | 3 | 503
busy-always        | 3 | also when it was asked again 3 times
unauthorized       | 8 | --header
not-http           | 3 | HTTP/0.9
gone               | 3 | Empty reply
resumed            | 4 | no answer within
forgetful          | 3 | 404
endpoint-elsewhere | 3 | another origin
endpoint-file      | 3 | another origin
endpoint-never     | 4 | no answer within
endpoint-long      | 4 | no answer within
KINDS
}
