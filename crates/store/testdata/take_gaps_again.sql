/* iostall:take_gaps_again */
DROP TRIGGER temp.refuse_gaps;
