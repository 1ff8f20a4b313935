/* program.c: mcpctl-web as a program of its own. */
#define _GNU_SOURCE
#include <common/sibling.h>
#include <common/text.h>

const char *program_name = "mcpctl web";

int main(int argc, char **argv)
{
    return web_main(argc, argv);
}
