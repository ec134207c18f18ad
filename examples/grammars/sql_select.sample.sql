WITH recent AS (
  SELECT o.id, o.customer_id, o.total, CAST(o.created AS date) AS day
  FROM shop.orders o
  WHERE o.created BETWEEN '2024-01-01' AND '2024-12-31' AND o.state NOT IN ('cancelled', 'lost')
), best AS (
  SELECT customer_id, SUM(total) AS spent, COUNT(*) n, COUNT(DISTINCT day) AS days
  FROM recent GROUP BY customer_id HAVING SUM(total) > 1e3 OR COUNT(*) >= 10
)
SELECT c.name, c."e mail", b.spent / b.n AS average,
  CASE WHEN b.days > 100 THEN 'daily' WHEN b.days > 20 THEN 'often' ELSE 'now and then' END AS habit,
  ROW_NUMBER() OVER (PARTITION BY c.country ORDER BY b.spent DESC NULLS LAST) AS place,
  -b.spent % 7 + (b.n - 1) * .5 || ' it''s'
FROM best b
LEFT OUTER JOIN customers AS c ON c.id = b.customer_id AND c.deleted IS NOT NULL
JOIN (SELECT id, MAX(visited) FROM visits GROUP BY id) v USING (id)
WHERE NOT EXISTS (SELECT 1 FROM blocked WHERE blocked.id = c.id) AND (c.country, c.city) IN (SELECT country, city FROM places)
  AND c.name ILIKE '%smith_' AND b.spent <> ALL (SELECT 0)
UNION ALL
select *, 'x', null from old_customers where active is true and (age >= 18 or guardian is not null)
ORDER BY place ASC, 2 LIMIT 100 OFFSET 20;
