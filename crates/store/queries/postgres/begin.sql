/* iostall:begin */
-- Everything that writes names its rows by keys: planning it anew for each set of values would take longer than running it.
BEGIN;
SET LOCAL plan_cache_mode = force_generic_plan;
