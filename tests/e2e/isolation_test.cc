#include "e2e/sandbox_fixture.h"
