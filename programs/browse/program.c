/* program.c: mcpctl-browse as a program of its own. */
#define _GNU_SOURCE
#include <common/sibling.h>
#include <common/text.h>

const char *program_name = "mcpctl browse";

int main(int argc, char **argv)
{
    return browse_main(argc, argv);
}
