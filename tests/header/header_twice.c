#include <osbx.h>

extern int osbx_header_compiles_twice;
