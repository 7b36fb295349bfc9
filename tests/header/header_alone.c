#include "osbx.h"

/* A translation unit needs a declaration of its own in strict C. */
extern int osbx_header_compiles_alone;
