throw new Error('the other system cannot be reached');
