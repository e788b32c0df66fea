/* iostall:postgres_0011_drop_operators */

/* Who may log in to this repository may push. Servers believe the signature of a release and their own policy, and nobody else. */
DROP TABLE iostall.operator;
DROP TABLE iostall.push_log;
DROP FUNCTION iostall.refuse_change();

ALTER TABLE iostall.push DROP COLUMN action, DROP COLUMN undo_action;

/* Releases have settings, profiles and alert rules. Programs come as packages. */
ALTER TABLE iostall.push_agent DROP COLUMN platform, DROP COLUMN release;

UPDATE iostall.release SET objects = coalesce(
    (SELECT jsonb_agg(o.object ORDER BY o.place) FROM jsonb_array_elements(objects) WITH ORDINALITY AS o (object, place)
     WHERE o.object ->> 'kind' NOT IN ('program', 'sql')), '[]');

UPDATE iostall.push_agent SET objects = coalesce(
    (SELECT jsonb_agg(o.object ORDER BY o.place) FROM jsonb_array_elements(objects) WITH ORDINALITY AS o (object, place)
     WHERE o.object ->> 'kind' NOT IN ('program', 'sql')), '[]');
