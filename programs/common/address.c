/* address.c: what a user should know about an address that a server wants to have opened. */
#include "address.h"

#include <strings.h>

#include <mcp/uri.h>

/* Returns whether a host name has non-ASCII letters, or encoded ones (Punycode). */
static bool is_international(mcp_str host)
{
    bool at_label = true;
    for (size_t i = 0; i < host.len; i++) {
        if ((unsigned char)host.ptr[i] >= 0x80 || host.ptr[i] == '%')
            return true;
        if (at_label && host.len - i >= 4 && strncasecmp(host.ptr + i, "xn--", 4) == 0)
            return true;
        at_label = host.ptr[i] == '.';
    }
    return false;
}

size_t address_check(mcp_str url, mcp_str *host, const char *warnings[ADDRESS_WARNINGS])
{
    mcp_uri uri;
    size_t n = 0;
    *host = (mcp_str){0};
    if (mcp_uri_parse(url, &uri, NULL) != MCP_OK || !uri.host.len) {
        warnings[0] = "it is not clear whose address that is";
        return 1;
    }
    *host = uri.host;
    if (is_international(uri.host))
        warnings[n++] =
            "the name has letters of other scripts, which can look like those of another "
            "name";
    if (uri.has_userinfo)
        warnings[n++] = "the part before the @ does not belong to the host name";
    if (!mcp_uri_scheme_is(&uri, "https"))
        warnings[n++] = "the address is not https: what is sent there can be read on the way";
    return n;
}
