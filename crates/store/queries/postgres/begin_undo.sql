/* iostall:begin_undo */
UPDATE iostall.push SET state = 'undoing', undo_action = $2, permit = $3, changed = now() WHERE number = $1;
