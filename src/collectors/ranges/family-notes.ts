// Caveats that several families of ranges share.

export const WHOLE = 'Absent unless this exporter read every node that is not known to be down.';
export const AVERAGED = 'The server averages over the last 30 minutes at most.';
export const NOT_SENT = 'Absent where the server does not send it (before 23.1).';
