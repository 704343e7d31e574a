package postgres

// keptNow is what park_put says of a row that it added. What it says of others
// is a wire.ParkVerdict: one that was there already is kept, too.
const keptNow = 3

// parkSchema has the tables of parked cells, and the two functions that spare
// many round trips. Putting takes turns by address: so a cell that comes twice
// at once is one row in whatever epoch, and the bound of an address holds.
//
// Who has the database sees how many cells wait at which address, and until
// which hour or day; bodies are sealed under keys that are not here.
const parkSchema = `
CREATE TABLE parked (
	epoch   integer NOT NULL,  -- the last UTC day on which the row is read
	address bytea NOT NULL,    -- 32
	id      bytea NOT NULL,    -- 16, keyed hash of address and cell
	until   bigint NOT NULL,   -- unix second of the expiry: a minute, an hour or a day
	body    bytea NOT NULL     -- 1,296, the cell under the key of its epoch
) PARTITION BY LIST (epoch);
ALTER TABLE parked ALTER body SET STORAGE PLAIN;

CREATE FUNCTION park_put(addresses bytea[], ids bytea[], untils bigint[], bodies bytea[], turns integer[], moment bigint, room bigint) RETURNS smallint[]
LANGUAGE plpgsql AS $$
DECLARE
	said smallint[] := '{}';
	was bigint;
	t integer;
BEGIN
	FOR t IN SELECT DISTINCT n FROM unnest(turns) n ORDER BY n LOOP
		PERFORM pg_advisory_xact_lock(31438, t);
	END LOOP;
	FOR i IN 1 .. cardinality(ids) LOOP
		SELECT until INTO was FROM parked WHERE address = addresses[i] AND id = ids[i];
		IF was > moment THEN
			said := said || 0::smallint;
			CONTINUE;
		ELSIF was IS NOT NULL THEN
			DELETE FROM parked WHERE address = addresses[i] AND id = ids[i];
		ELSIF (SELECT count(*) FROM parked WHERE address = addresses[i]) >= 1000 THEN
			said := said || 1::smallint;
			CONTINUE;
		ELSIF room <= 0 THEN
			said := said || 2::smallint;
			CONTINUE;
		END IF;
		INSERT INTO parked VALUES ((untils[i] - 1) / 86400, addresses[i], ids[i], untils[i], bodies[i]);
		room := room - 1;
		said := said || 3::smallint;
	END LOOP;
	RETURN said;
END $$;

CREATE FUNCTION park_take(addresses bytea[], after bytea, moment bigint, most integer) RETURNS TABLE (a bytea, i bytea, u bigint, b bytea)
LANGUAGE plpgsql AS $$
DECLARE
	at bytea;
	n integer;
BEGIN
	FOREACH at IN ARRAY addresses LOOP
		RETURN QUERY SELECT p.address, p.id, p.until, p.body FROM parked p
			WHERE p.address = at AND p.id > coalesce(after, ''::bytea) AND p.until > moment ORDER BY p.id LIMIT most;
		GET DIAGNOSTICS n = ROW_COUNT;
		most := most - n;
		EXIT WHEN most = 0;
		after := NULL;
	END LOOP;
END $$;`
